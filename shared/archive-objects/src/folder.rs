//! Objects as files in a folder.
//!
//! A file is written beside its place, synced and renamed, and then the folders are synced. The disk is
//! slow, so every call runs on a thread for that.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use async_trait::async_trait;
use tokio::task::spawn_blocking;

use crate::store::{MARK, Store};

/// A folder that exists.
#[derive(Debug, Clone)]
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new(root: PathBuf) -> Self {
        Self(root)
    }
}

#[async_trait]
impl Store for Folder {
    async fn get(&self, name: &str) -> io::Result<Option<Vec<u8>>> {
        let path = self.0.join(name);
        blocking(move || match fs::read(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            read => read.map(Some),
        })
        .await
    }

    /// Beside the mark only.
    async fn put(&self, name: &str, bytes: Vec<u8>) -> io::Result<()> {
        let (root, path, beside) = (self.0.clone(), self.0.join(name), self.0.join(MARK));
        blocking(move || {
            // Below a mount point that lost its file system, folders would be created.
            fs::metadata(beside)?;
            let parent = path.parent().unwrap_or(&root);
            fs::create_dir_all(parent)?;
            let draft = draft(&path, "new");
            write(&draft, &bytes)?;
            fs::rename(&draft, &path)?;
            sync_up(parent, &root)
        })
        .await
    }

    async fn create(&self, name: &str, bytes: Vec<u8>, key: &str) -> io::Result<bool> {
        let (root, path) = (self.0.clone(), self.0.join(name));
        let draft = draft(&path, key);
        blocking(move || {
            // Below a mount point that lost its file system, folders would be created.
            fs::metadata(&root)?;
            let parent = path.parent().unwrap_or(&root);
            fs::create_dir_all(parent)?;
            write(&draft, &bytes)?;
            // A link is made only if nothing has the name, and then the file is complete.
            let linked = fs::hard_link(&draft, &path);
            fs::remove_file(&draft)?;
            match linked {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(false),
                linked => linked.and_then(|()| sync_up(parent, &root)).map(|()| true),
            }
        })
        .await
    }

    async fn delete(&self, name: &str) -> io::Result<()> {
        let path = self.0.join(name);
        blocking(move || gone(fs::remove_file(path))).await
    }

    /// Removes a folder that has nothing but what a crash has left of writes.
    async fn delete_folder(&self, name: &str) -> io::Result<()> {
        let path = self.0.join(name);
        blocking(move || {
            let entries = match fs::read_dir(&path) {
                Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
                entries => entries?.collect::<io::Result<Vec<_>>>()?,
            };
            if entries.iter().any(|it| !it.file_name().to_string_lossy().starts_with('.')) {
                return Ok(());
            }
            for draft in entries {
                gone(fs::remove_file(draft.path()))?;
            }
            match fs::remove_dir(path) {
                Err(error) if error.kind() == ErrorKind::DirectoryNotEmpty => Ok(()),
                removed => gone(removed),
            }
        })
        .await
    }

    async fn names(&self, folder: &str) -> io::Result<Vec<String>> {
        let path = self.0.join(folder);
        blocking(move || {
            let entries = match fs::read_dir(path) {
                Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
                entries => entries?,
            };
            let mut names = Vec::new();
            for entry in entries {
                // Other names are none of ours.
                names.extend(entry?.file_name().into_string().ok());
            }
            names.retain(|name| !name.starts_with('.'));
            names.sort_unstable();
            Ok(names)
        })
        .await
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    spawn_blocking(work).await.map_err(io::Error::other)?
}

/// What is already gone is removed as well.
fn gone(removed: io::Result<()>) -> io::Result<()> {
    match removed {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

/// The name of a file while it is written.
fn draft(path: &Path, key: &str) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.{key}"))
}

fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = File::create(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// Makes the entries of a folder durable, and those of the folders that it is in, up to the root.
fn sync_up(folder: &Path, root: &Path) -> io::Result<()> {
    for folder in folder.ancestors() {
        File::open(folder)?.sync_all()?;
        if folder == root {
            break;
        }
    }
    Ok(())
}
