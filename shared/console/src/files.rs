//! The files of the console, as `make console` wrote them. Do not edit.

use crate::File;

pub(crate) static FILES: [File; 5] = [
    File {
        name: "app.cb9bed5b6f49.css",
        bytes: include_bytes!("../dist/app.cb9bed5b6f49.css"),
        gzip: include_bytes!("../dist/app.cb9bed5b6f49.css.gz"),
        content_type: "text/css; charset=utf-8",
        etag: "\"cb9bed5b6f4920834c00fa962928b1c4\"",
        is_hashed: true,
    },
    File {
        name: "app.db955deef466.js",
        bytes: include_bytes!("../dist/app.db955deef466.js"),
        gzip: include_bytes!("../dist/app.db955deef466.js.gz"),
        content_type: "text/javascript; charset=utf-8",
        etag: "\"db955deef4661189d8a99cf4050fa87a\"",
        is_hashed: true,
    },
    File {
        name: "archivo.5f086eb58219.woff2",
        bytes: include_bytes!("../dist/archivo.5f086eb58219.woff2"),
        gzip: &[],
        content_type: "font/woff2",
        etag: "\"5f086eb582194340166de62fee420fa9\"",
        is_hashed: true,
    },
    File {
        name: "index.html",
        bytes: include_bytes!("../dist/index.html"),
        gzip: include_bytes!("../dist/index.html.gz"),
        content_type: "text/html; charset=utf-8",
        etag: "\"4450825675e3803296992cb43289d914\"",
        is_hashed: false,
    },
    File {
        name: "newsreader.27a104163850.woff2",
        bytes: include_bytes!("../dist/newsreader.27a104163850.woff2"),
        gzip: &[],
        content_type: "font/woff2",
        etag: "\"27a1041638508a5afc0883172e6fa561\"",
        is_hashed: true,
    },
];
