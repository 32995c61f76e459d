//! The files of the console, as `make console` wrote them. Do not edit.

use crate::File;

pub(crate) static FILES: [File; 5] = [
    File {
        name: "app.0661defe07c7.css",
        bytes: include_bytes!("../dist/app.0661defe07c7.css.gz"),
        is_gzip: true,
        content_type: "text/css; charset=utf-8",
        etag: "\"0661defe07c787b5216b19f72afe5bf7\"",
        is_hashed: true,
    },
    File {
        name: "app.3c719cdd1766.js",
        bytes: include_bytes!("../dist/app.3c719cdd1766.js.gz"),
        is_gzip: true,
        content_type: "text/javascript; charset=utf-8",
        etag: "\"3c719cdd17668c66530d699e018eda65\"",
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
        etag: "\"10fe953f386f13eca63a283076a9ccfd\"",
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
