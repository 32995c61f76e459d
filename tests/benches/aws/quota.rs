//! A fraction of a processor for a process, as Lambda gives it: a quota in each short period.

use std::fs;
use std::io;
use std::path::PathBuf;

/// The period of the quota, in microseconds.
const PERIOD: u32 = 20_000;
/// The memory that comes with a whole processor, in MB.
const WHOLE: u32 = 1_769;

/// The control group of a process. It is removed when the process has ended.
pub(crate) struct Quota(PathBuf);

impl Quota {
    /// Bounds a process to the fraction that comes with so much memory. Needs to be root.
    pub(crate) fn of(process: u32, memory: u32) -> io::Result<Self> {
        let (micros, name) = (PERIOD * memory / WHOLE, format!("minutehand-bench-{process}"));
        let first = PathBuf::from("/sys/fs/cgroup/cpu").join(&name);
        let group = Self(match fs::create_dir(&first) {
            Ok(()) => first,
            Err(_) => PathBuf::from("/sys/fs/cgroup").join(&name),
        });
        if group.0.starts_with("/sys/fs/cgroup/cpu") {
            fs::write(group.0.join("cpu.cfs_period_us"), PERIOD.to_string())?;
            fs::write(group.0.join("cpu.cfs_quota_us"), micros.to_string())?;
        } else {
            fs::create_dir(&group.0)?;
            fs::write(group.0.join("cpu.max"), format!("{micros} {PERIOD}"))?;
        }
        fs::write(group.0.join("cgroup.procs"), process.to_string())?;
        Ok(group)
    }
}

impl Drop for Quota {
    fn drop(&mut self) {
        // Refused while the process runs: then the group stays, and bounds nothing else.
        let _ = fs::remove_dir(&self.0);
    }
}
