/**
 * Synthesizes the app and compares the result with `../template.yaml`: they must be equal except for the
 * code of the functions. It uses placeholder packages and works offline.
 */
const { deepStrictEqual, strictEqual } = require('node:assert');
const { execFileSync } = require('node:child_process');
const { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } = require('node:fs');
const { join } = require('node:path');
const { parse } = require('yaml');

const FUNCTIONS = {
  ApiFunction: 'api',
  SweeperFunction: 'sweeper',
  ExecutorFunction: 'executor',
  ArchiverFunction: 'archiver',
};
const folder = join(__dirname, '..', '..', 'target', 'cdk');
const packages = join(folder, 'packages');
const out = join(folder, 'check');

rmSync(out, { recursive: true, force: true });
for (const name of Object.values(FUNCTIONS)) {
  mkdirSync(join(packages, name), { recursive: true });
  writeFileSync(join(packages, name, 'bootstrap'), `placeholder for ${name}\n`);
}
// The output is shown only if the command fails. Otherwise it is advice that does not apply here.
execFileSync('npx', ['cdk', 'synth', '--quiet', '--output', out], {
  cwd: __dirname,
  env: { ...process.env, MINUTEHAND_PACKAGES: packages },
  stdio: ['ignore', 'pipe', 'pipe'],
});

const template = readTemplate(join(__dirname, '..', 'template.yaml'));
const synthesized = JSON.parse(readFileSync(join(out, 'minutehand.template.json'), 'utf8'));
const assets = JSON.parse(readFileSync(join(out, 'minutehand.assets.json'), 'utf8')).files;

for (const [name, directory] of Object.entries(FUNCTIONS)) {
  const { CodeUri } = synthesized.Resources[name].Properties;
  const asset = assets[CodeUri.Key.replace('.zip', '')];
  const source = join(out, asset.source.path, 'bootstrap');
  strictEqual(readFileSync(source, 'utf8'), `placeholder for ${directory}\n`, `the package of ${name}`);
  delete synthesized.Resources[name].Properties.CodeUri;
  delete template.Resources[name].Properties.CodeUri;
}
// The CDK adds these to every stack, to check that the account is bootstrapped.
delete synthesized.Parameters.BootstrapVersion;
delete synthesized.Rules.CheckBootstrapVersion;
for (const section of new Set([...Object.keys(template), ...Object.keys(synthesized)])) {
  const [ours, theirs] = [template[section], synthesized[section]].map(comparable);
  if (section === 'AWSTemplateFormatVersion' || section === 'Transform') {
    deepStrictEqual([theirs].flat(), [ours].flat(), section);
    continue;
  }
  for (const name of new Set([...Object.keys(ours ?? {}), ...Object.keys(theirs ?? {})])) {
    deepStrictEqual(theirs?.[name], ours?.[name], `${section}.${name} differs from the template`);
  }
}
console.log(`${Object.keys(template.Resources).length} resources, as in the template`);

/** Reads YAML with the short forms of functions, as JSON with the long ones. */
function readTemplate(path) {
  const long = (name) => (name === 'Ref' || name === 'Condition' ? name : `Fn::${name}`);
  const names = ['Ref', 'Condition', 'GetAtt', 'Sub', 'If', 'Equals', 'Not', 'And', 'Or', 'Split', 'Join', 'FindInMap'];
  const customTags = names.flatMap((name) => [
    { tag: `!${name}`, resolve: (text) => ({ [long(name)]: name === 'GetAtt' ? text.split('.') : text }) },
    ...['map', 'seq'].map((collection) => ({
      tag: `!${name}`,
      collection,
      resolve: (node) => ({ [long(name)]: node.toJSON() }),
    })),
  ]);
  return parse(readFileSync(path, 'utf8'), { customTags });
}

/**
 * Converts equivalent values to one form: numbers and booleans to strings, the path of an attribute to a
 * list.
 */
function comparable(value) {
  if (Array.isArray(value)) return value.map(comparable);
  if (value === null || typeof value !== 'object') return String(value);
  const one = ([key, inner]) => [
    key,
    key === 'Fn::GetAtt' && typeof inner === 'string' ? inner.split('.') : comparable(inner),
  ];
  return Object.fromEntries(Object.entries(value).map(one));
}
