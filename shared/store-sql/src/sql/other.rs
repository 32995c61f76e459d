//! The journal, cloud services and pulses.

macro_rules! service {
    () => {
        "SELECT group_key, uid, subscription, resource_group, label, description, region, version \
         FROM cloud_services "
    };
}

/// What [`crate::journal`] reads of a row.
macro_rules! entry {
    () => {
        "SELECT collection_uid, at, job_key, request_id, who, operation, job, names, patches, kind FROM journal "
    };
}

statements! {
    ADD_ENTRY = "INSERT INTO journal (collection_uid, at, job_key, request_id, who, operation, \
         job, names, patches, expires_at, kind) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11) ON CONFLICT DO NOTHING";

    /// A page of a journal, the newest first, behind a position.
    JOURNAL = concat!(
        entry!(),
        "WHERE collection_uid = ?1 AND at <= ?2 AND (at, job_key, request_id) < (?2, ?3, ?4) \
         ORDER BY at DESC, job_key DESC, request_id DESC LIMIT ?5"
    );

    /// Entries of all journals in the order of their keys, behind a position.
    ALL_ENTRIES = concat!(
        entry!(),
        "WHERE (collection_uid, at, job_key, request_id) > (?1, ?2, ?3, ?4) \
         ORDER BY collection_uid, at, job_key, request_id LIMIT ?5"
    );

    SERVICE = concat!(service!(), "WHERE subscription_key = ?1 AND group_key = ?2");

    SERVICES = concat!(
        service!(),
        "WHERE subscription_key = ?1 AND group_key > ?2 ORDER BY group_key LIMIT ?3"
    );

    /// The first version of a cloud service.
    CREATE_SERVICE = "INSERT INTO cloud_services (subscription_key, group_key, uid, \
         subscription, resource_group, label, description, region, version) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) ON CONFLICT DO NOTHING";

    /// A version of a cloud service in place of the one before.
    REPLACE_SERVICE = "UPDATE cloud_services SET subscription = ?4, resource_group = ?5, \
         label = ?6, description = ?7, region = ?8, version = ?9 \
         WHERE subscription_key = ?1 AND group_key = ?2 AND uid = ?3 AND version = ?9 - 1";

    DELETE_SERVICE = "DELETE FROM cloud_services \
         WHERE subscription_key = ?1 AND group_key = ?2 AND uid = ?3 AND version = ?4";

    PULSES = "SELECT of, beat_at, outages, history FROM pulses";

    /// A beat on the one that was read.
    BEAT = "UPDATE pulses SET beat_at = ?2, outages = ?3, history = ?4 \
         WHERE of = ?1 AND beat_at = ?5";

    /// The first beat.
    FIRST_BEAT = "INSERT INTO pulses (of, beat_at, outages, history) VALUES (?1, ?2, ?3, ?4) \
         ON CONFLICT (of) DO UPDATE SET beat_at = excluded.beat_at, outages = excluded.outages, \
         history = excluded.history WHERE pulses.beat_at IS NULL";

    IMPORT = "SELECT export_id FROM imports WHERE one = 1";

    /// An import, if none is under way, or the same one is, or it takes the place of another one.
    BEGIN_IMPORT = "INSERT INTO imports (one, export_id) VALUES (1, ?1) \
         ON CONFLICT (one) DO UPDATE SET export_id = excluded.export_id \
         WHERE imports.export_id = excluded.export_id OR ?2 <> 0";

    END_IMPORT = "DELETE FROM imports WHERE one = 1 AND export_id = ?1";

    WRITE_AGAIN = "UPDATE meta SET value = value WHERE name = 'schema'";
}
