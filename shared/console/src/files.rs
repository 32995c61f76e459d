//! The files of the console, as `make console` wrote them. Do not edit.

use crate::File;

pub(crate) static FILES: [File; 5] = [
    File {
        name: "app.20a5a981da1d.css",
        bytes: include_bytes!("../dist/app.20a5a981da1d.css"),
        gzip: include_bytes!("../dist/app.20a5a981da1d.css.gz"),
        content_type: "text/css; charset=utf-8",
        etag: "\"20a5a981da1d096d798b623004d8f2b9\"",
        is_hashed: true,
    },
    File {
        name: "app.73e1ca85d8c0.js",
        bytes: include_bytes!("../dist/app.73e1ca85d8c0.js"),
        gzip: include_bytes!("../dist/app.73e1ca85d8c0.js.gz"),
        content_type: "text/javascript; charset=utf-8",
        etag: "\"73e1ca85d8c05c1add01fc992ee832a7\"",
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
        etag: "\"6ec6d660a3e9de188d20be53140bcadc\"",
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
