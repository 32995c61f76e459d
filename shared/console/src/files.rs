//! The files of the console, as `make console` wrote them. Do not edit.

use crate::File;

pub(crate) static FILES: [File; 5] = [
    File {
        name: "app.80186fdf0a9a.css",
        bytes: include_bytes!("../dist/app.80186fdf0a9a.css.gz"),
        is_gzip: true,
        content_type: "text/css; charset=utf-8",
        etag: "\"80186fdf0a9a4db539850c86eadcf0a4\"",
        is_hashed: true,
    },
    File {
        name: "app.ccee817ad2c5.js",
        bytes: include_bytes!("../dist/app.ccee817ad2c5.js.gz"),
        is_gzip: true,
        content_type: "text/javascript; charset=utf-8",
        etag: "\"ccee817ad2c5a294972791347d8ea8be\"",
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
        etag: "\"a90cce41ff64114bd7256fabdc3ffa47\"",
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
