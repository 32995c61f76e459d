//! The files of the console, as `make console` wrote them. Do not edit.

use crate::File;

pub(crate) static FILES: [File; 5] = [
    File {
        name: "app.b6d14d533c56.css",
        bytes: include_bytes!("../dist/app.b6d14d533c56.css.gz"),
        is_gzip: true,
        content_type: "text/css; charset=utf-8",
        etag: "\"b6d14d533c56ff835a33e32b565a885e\"",
        is_hashed: true,
    },
    File {
        name: "app.df9279816baf.js",
        bytes: include_bytes!("../dist/app.df9279816baf.js.gz"),
        is_gzip: true,
        content_type: "text/javascript; charset=utf-8",
        etag: "\"df9279816baf27f69ba923dd3e461fe6\"",
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
        etag: "\"ca4792ddd2c3643e63ee6fdaf7d5f885\"",
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
