//! The files of the console, as `make console` wrote them. Do not edit.

use crate::File;

pub(crate) static FILES: [File; 5] = [
    File {
        name: "app.0950ae14d528.js",
        bytes: include_bytes!("../dist/app.0950ae14d528.js.gz"),
        is_gzip: true,
        content_type: "text/javascript; charset=utf-8",
        etag: "\"0950ae14d528eb1d43767ff694255e5d\"",
        is_hashed: true,
    },
    File {
        name: "app.80186fdf0a9a.css",
        bytes: include_bytes!("../dist/app.80186fdf0a9a.css.gz"),
        is_gzip: true,
        content_type: "text/css; charset=utf-8",
        etag: "\"80186fdf0a9a4db539850c86eadcf0a4\"",
        is_hashed: true,
    },
    File {
        name: "archivo.5f086eb58219.woff2",
        bytes: include_bytes!("../dist/archivo.5f086eb58219.woff2"),
        is_gzip: false,
        content_type: "font/woff2",
        etag: "\"5f086eb582194340166de62fee420fa9\"",
        is_hashed: true,
    },
    File {
        name: "index.html",
        bytes: include_bytes!("../dist/index.html"),
        is_gzip: false,
        content_type: "text/html; charset=utf-8",
        etag: "\"7e56c073b592914ac8e27cbb0ebcde2a\"",
        is_hashed: false,
    },
    File {
        name: "newsreader.27a104163850.woff2",
        bytes: include_bytes!("../dist/newsreader.27a104163850.woff2"),
        is_gzip: false,
        content_type: "font/woff2",
        etag: "\"27a1041638508a5afc0883172e6fa561\"",
        is_hashed: true,
    },
];
