// Builds the console: `dist`, the table of its files for the server, and what they were built of.
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, extname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import * as zopfli from '@gfx/zopfli';
import * as esbuild from 'esbuild';
import { minify } from 'terser';

const web = dirname(fileURLToPath(import.meta.url));
const dist = join(web, '../dist');
const sha = (bytes) => createHash('sha256').update(bytes).digest('hex');
const files = [];

async function put(base, bytes, isHashed = true) {
  const ending = extname(base);
  const name = isHashed ? `${base.slice(0, -ending.length)}.${sha(bytes).slice(0, 12)}${ending}` : base;
  const isGzip = ending === '.css' || ending === '.js';
  // Ordinary gzip for a browser, about 3 % smaller than zlib makes it, and the same with every version of Node.
  const sent = isGzip ? Buffer.from(await zopfli.gzipAsync(bytes, { numiterations: 15 })) : bytes;
  const path = isGzip ? `${name}.gz` : name;
  writeFileSync(join(dist, path), sent);
  files.push({ name, path, bytes, sent, isGzip, ending, isHashed });
  return name;
}

rmSync(dist, { recursive: true, force: true });
mkdirSync(dist, { recursive: true });
const fonts = {};
for (const font of ['archivo', 'jetbrains-mono', 'newsreader'])
  fonts[font] = await put(`${font}.woff2`, readFileSync(join(web, 'fonts', `${font}.woff2`)));
const style = await esbuild.build({
  absWorkingDir: web,
  entryPoints: ['src/styles/console.css'],
  bundle: true,
  write: false,
  minify: true,
  external: ['*.woff2'],
  target: 'es2022',
  legalComments: 'none',
});
const css = style.outputFiles[0].text.replace(/url\(([\w-]+)\.woff2\)/g, (_, font) => `url(${fonts[font]})`);
// gzip looks back 32 KB: what is alike stands near each other. A search for the smallest has found this order.
const ORDER =
  'elsewhere live answers time pasted neighbours editor spread jobs dead tape undo overview palette collections job why crowd heat journal wall import main calendar'.split(
    ' ',
  );
const bundle = await esbuild.build({
  absWorkingDir: web,
  stdin: { contents: ORDER.map((name) => `import './src/${name}';`).join(''), resolveDir: web },
  bundle: true,
  write: false,
  minify: true,
  format: 'esm',
  target: 'es2022',
  // Children that are arguments take fewer bytes than a property of that name.
  tsconfigRaw: { compilerOptions: { jsx: 'react', jsxFactory: 'h', jsxFragmentFactory: 'Fragment', target: 'es2022' } },
  inject: ['src/jsx.ts'],
  legalComments: 'none',
});
const styleName = await put('app.css', Buffer.from(css));
// What terser leaves of that is about 3 % smaller, compressed.
const { code } = await minify(bundle.outputFiles[0].text, {
  module: true,
  ecma: 2020,
  compress: { passes: 2, inline: 1, unsafe_arrows: true, lhs_constants: false },
});
const script = await put('app.js', Buffer.from(code));
const page = readFileSync(join(web, 'src/index.html'), 'utf8')
  .replaceAll('app.css', styleName)
  .replaceAll('app.js', script)
  .replaceAll('archivo.woff2', fonts.archivo);
await put('index.html', Buffer.from(page), false);

function list(folder) {
  return readdirSync(folder).flatMap((name) => {
    const path = join(folder, name);
    if (name === 'node_modules') return [];
    return statSync(path).isDirectory() ? list(path) : [path];
  });
}
const order = (entries) => Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
const manifest = {
  files: order(files.map((file) => [file.name, sha(file.sent)])),
  sources: order(list(web).map((path) => [relative(web, path).replaceAll('\\', '/'), sha(readFileSync(path))])),
};
writeFileSync(join(dist, 'manifest.json'), `${JSON.stringify(manifest, null, 2)}\n`);

const types = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.woff2': 'font/woff2',
};
const rows = files
  .sort((a, b) => (a.name < b.name ? -1 : 1))
  .map(
    (file) => `    File {
        name: "${file.name}",
        bytes: include_bytes!("../dist/${file.path}"),
        is_gzip: ${file.isGzip},
        content_type: "${types[file.ending]}",
        etag: "\\"${sha(file.bytes).slice(0, 32)}\\"",
        is_hashed: ${file.isHashed},
    },
`,
  )
  .join('');
writeFileSync(
  join(web, '../src/files.rs'),
  `//! The files of the console, as \`make console\` wrote them. Do not edit.

use crate::File;

pub(crate) static FILES: [File; ${files.length}] = [
${rows}];
`,
);
for (const file of files) console.log(`${file.name}: ${file.bytes.length} bytes, ${file.sent.length} sent`);
