//! What the engine for many processes does beside the suite, on a PostgreSQL where it is installed: scripts
//! that are undone, several processes, a pooler, a database that crashes, TLS.

#[cfg(test)]
mod groups;
#[cfg(test)]
mod liveness;
#[cfg(test)]
mod losing;
#[cfg(test)]
mod lost_answers;
#[cfg(test)]
mod pooler;
#[cfg(test)]
mod processes;
#[cfg(test)]
mod scripts;
#[cfg(test)]
mod tls;
#[cfg(test)]
mod way;
#[cfg(test)]
mod world;
