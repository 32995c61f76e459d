//! What the system says about this process, under the names that Prometheus's own clients use.

use std::fmt;
use std::fs;

use minutehand_runtime::{counter, gauge};

/// Linux counts processor time for programs in hundredths of a second, on every machine.
const TICKS_PER_SECOND: u64 = 100;

/// The figures; each is `None` where the system does not tell it.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct ProcessFigures {
    cpu_ticks: Option<u64>,
    resident_bytes: Option<u64>,
    open_fds: Option<u64>,
    max_fds: Option<u64>,
    /// In hundredths of a second since 1970.
    started_ticks: Option<u64>,
}

impl ProcessFigures {
    /// Reads the figures from `/proc`, which only Linux has.
    pub(super) fn read() -> Self {
        let file = |name: &str| fs::read_to_string(name).unwrap_or_default();
        let open_fds = fs::read_dir("/proc/self/fd").ok().map(|fds| fds.count() as u64);
        let (stat, boot) = (file("/proc/self/stat"), file("/proc/stat"));
        Self {
            open_fds,
            ..Self::parse(&stat, &file("/proc/self/status"), &file("/proc/self/limits"), &boot)
        }
    }

    fn parse(stat: &str, status: &str, limits: &str, boot: &str) -> Self {
        // The name of the program is in parentheses, and may contain anything. Field 3 follows it.
        let fields: Vec<&str> =
            stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
        let field = |n: usize| fields.get(n - 3).and_then(|text| text.parse::<u64>().ok());
        let line = |text: &str, name: &str| -> Option<u64> {
            let line = text.lines().find_map(|line| line.strip_prefix(name))?;
            line.split_whitespace().next()?.parse().ok()
        };
        let booted = line(boot, "btime ");
        Self {
            cpu_ticks: field(14).zip(field(15)).map(|(user, system)| user + system),
            resident_bytes: line(status, "VmRSS:").map(|kib| kib * 1024),
            open_fds: None,
            max_fds: line(limits, "Max open files"),
            started_ticks: booted.zip(field(22)).map(|(boot, at)| boot * TICKS_PER_SECOND + at),
        }
    }

    pub(super) fn write(self, text: &mut String) -> fmt::Result {
        let seconds =
            |ticks: u64| format!("{}.{:02}", ticks / TICKS_PER_SECOND, ticks % TICKS_PER_SECOND);
        if let Some(ticks) = self.cpu_ticks {
            let help = "Processor time of this process, in user and system mode.";
            counter(text, "process_cpu_seconds_total", help, seconds(ticks))?;
        }
        for (name, help, value) in [
            ("process_resident_memory_bytes", "Memory of this process.", self.resident_bytes),
            ("process_open_fds", "Open files and connections.", self.open_fds),
            ("process_max_fds", "The most files and connections that may be open.", self.max_fds),
        ] {
            if let Some(value) = value {
                gauge(text, name, help, value)?;
            }
        }
        if let Some(ticks) = self.started_ticks {
            let help = "When this process started, in seconds since 1970.";
            gauge(text, "process_start_time_seconds", help, seconds(ticks))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_figures_are_those_of_proc() {
        let stat = "7 (a) b (c) S 1 7 7 0 -1 4194560 100 0 0 0 250 51 0 0 20 0 5 0 12345 1 2";
        let status = "Name:\tx\nVmRSS:\t   2048 kB\n";
        let limits = "Limit  Soft  Hard\nMax open files            1024  4096  files\n";
        let figures = ProcessFigures::parse(stat, status, limits, "cpu 1\nbtime 1700000000\n");
        let mut text = String::new();
        ProcessFigures { open_fds: Some(9), ..figures }.write(&mut text).unwrap();
        let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
        assert_eq!(
            lines,
            [
                "process_cpu_seconds_total 3.01",
                "process_resident_memory_bytes 2097152",
                "process_open_fds 9",
                "process_max_fds 1024",
                "process_start_time_seconds 1700000123.45",
            ]
        );
        let none = ProcessFigures::parse("", "", "Max open files  unlimited", "");
        assert_eq!(none, ProcessFigures::default());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn linux_tells_every_figure() {
        let figures = ProcessFigures::read();
        assert!(figures.open_fds.is_some() && figures.started_ticks.is_some(), "{figures:?}");
        assert!(figures.cpu_ticks.is_some() && figures.resident_bytes.is_some(), "{figures:?}");
    }
}
