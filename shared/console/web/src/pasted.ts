// What a URL, or a line of curl, that is pasted into an action says about it.
import type { Document } from './answers';

/** What a text says: an action, or why it is not understood; `null` if it is only a URL, or something else. */
export type Pasted = { action: Document } | { problem: string } | null;

const NEW_KEY = { authentication: { type: 'sharedAccessKey' } };

/** Addresses of queues: what each has, and the action that sends to it. */
const QUEUES: readonly [RegExp, (found: string[], query: string) => Document][] = [
  [
    /^https:\/\/([\w-]+)\.queue\.core\.windows\.net\/([\w-]+)(?:\/messages)?\/?$/i,
    ([storageAccount, queueName], query) => ({
      type: 'StorageQueue',
      queueMessage: { storageAccount, queueName, ...(/(^|&)sig=/.test(query) && { sasToken: query }) },
    }),
  ],
  [
    /^(?:https|sb):\/\/([\w-]+)\.servicebus\.windows\.net\/([^?]+?)(?:\/messages)?\/?$/i,
    ([namespace, queueName]) => ({
      type: 'ServiceBusQueue',
      serviceBusQueueMessage: { namespace, queueName, ...NEW_KEY },
    }),
  ],
  [/^(https:\/\/sqs\.[\w.-]+\/\d+\/[\w.-]+)$/i, ([queueUrl]) => ({ type: 'Sqs', sqsMessage: { queueUrl } })],
];

/** The type of an HTTP action by its URL; `null` while neither is written. */
export const schemeOf = (uri: string): 'Https' | 'Http' | null =>
  /^https:\/\//i.test(uri) ? 'Https' : /^http:\/\//i.test(uri) ? 'Http' : null;

/** What a pasted text says of an action. */
export function pasted(text: string): Pasted {
  const line = text.trim().replace(/^\$ +/, '');
  if (/^curl(\.exe)?\s/i.test(line)) return curl(line);
  const [address = '', query = ''] = line.split('?', 2);
  for (const [form, action] of QUEUES) {
    const found = form.exec(address);
    if (found) return { action: action(found.slice(1), query) };
  }
  return null;
}

class NotUnderstood extends Error {}

/**
 * The words of a line of a shell, without what only a shell can replace. A backslash at the end of a line
 * goes; of lines that a field has joined, a space follows it.
 */
function wordsOf(line: string): string[] {
  const words: string[] = [];
  // A text in quotes, an escaped character, or a character; each belongs to the word that it touches.
  const part = /\$'((?:[^'\\]|\\.)*)'|'([^']*)'|"((?:[^"\\]|\\.)*)"|\\(\r?\n|.)|(\s+)|(\$[\w{(]|`|[|;&<>()])|(.)/gsy;
  let word: string | null = null;
  for (const found of line.matchAll(part)) {
    const [all, ansi, single, double, escaped, space, special] = found;
    if (special !== undefined || (double !== undefined && /(^|[^\\])(\$[\w{(]|`)/.test(double)))
      throw new NotUnderstood(
        /^[|;&<>()]/.test(all)
          ? `“${all}” is for a shell: paste one call of curl alone, with its URL in quotes.`
          : `“${all}” is a variable or command of a shell: write its value.`,
      );
    if (space !== undefined) {
      if (word !== null) words.push(word);
      word = null;
    } else if (!(escaped?.endsWith('\n') || (escaped === ' ' && word === null))) {
      if (/^['"]$/.test(all)) throw new NotUnderstood(`A quotation mark ${all} is not closed.`);
      word =
        (word ?? '') +
        (ansi?.replace(/\\(.)/gs, (_, one: string) => ESCAPES[one] ?? one) ??
          single ??
          double?.replace(/\\([\\"$`])|\\\n/g, '$1') ??
          escaped ??
          all);
    }
  }
  return word === null ? words : [...words, word];
}

const ESCAPES: Record<string, string> = { n: '\n', r: '\r', t: '\t' };

/** Options without an effect on the call of a job, and those that have a value, by their long names. */
const IGNORED = ['silent', 'show-error', 'fail', 'fail-with-body', 'verbose', 'location', 'include', 'compressed'];
const SHORT: Record<string, string> = {
  s: 'silent',
  S: 'show-error',
  f: 'fail',
  v: 'verbose',
  L: 'location',
  i: 'include',
  G: 'get',
  I: 'head',
  X: 'request',
  H: 'header',
  d: 'data',
  u: 'user',
  A: 'user-agent',
  e: 'referer',
  b: 'cookie',
};
const VALUED = [
  'request',
  'header',
  'data',
  'data-raw',
  'data-ascii',
  'data-binary',
  'data-urlencode',
  'json',
  'user',
  'user-agent',
  'referer',
  'cookie',
  'url',
];

/** The options of a line, by their long names, with their values; what is no option is a URL. */
function optionsOf(words: readonly string[]): [string, string][] {
  const options: [string, string][] = [];
  const rest = words.slice();
  for (let word = rest.shift(); word !== undefined; word = rest.shift()) {
    if (!word.startsWith('-') || word === '-') {
      options.push(['url', word]);
      continue;
    }
    const [names, inside] = word.startsWith('--') ? [[word.slice(2)], ''] : shorts(word.slice(1));
    for (const name of names) {
      const isValued = VALUED.includes(name);
      if (!isValued && !IGNORED.includes(name) && name !== 'get' && name !== 'head')
        throw new NotUnderstood(`The option ${word} is not understood: leave it out, and set it in the form.`);
      const value = isValued ? inside || rest.shift() : '';
      if (value === undefined) throw new NotUnderstood(`The option ${word} has no value.`);
      options.push([name, value]);
    }
  }
  return options;
}

/** Short options that stand together, such as `-sSX`, and the value of the last one if it touches it. */
function shorts(letters: string): [string[], string] {
  const names: string[] = [];
  for (const [place, letter] of [...letters].entries()) {
    const name = SHORT[letter] ?? letter;
    names.push(name);
    if (VALUED.includes(name)) return [names, letters.slice(place + 1)];
  }
  return [names, ''];
}

function curl(line: string): Pasted {
  try {
    return { action: actionOf(optionsOf(wordsOf(line).slice(1))) };
  } catch (thrown) {
    if (thrown instanceof NotUnderstood) return { problem: thrown.message };
    throw thrown;
  }
}

/** One value of a form: what stands after its name is escaped. */
function urlencoded(value: string): string {
  const equals = value.indexOf('=');
  return `${value.slice(0, equals + 1).replace(/^=$/, '')}${encodeURIComponent(value.slice(equals + 1))}`;
}

function actionOf(options: readonly [string, string][]): Document {
  const urls: string[] = [];
  const data: string[] = [];
  const headers: Record<string, string> = {};
  let method: string | null = null;
  let authentication: Document | null = null;
  const set = (name: string, value: string, isDefault = false) => {
    const known = Object.keys(headers).find((one) => one.toLowerCase() === name.toLowerCase());
    if (!(isDefault && known !== undefined)) headers[known ?? name] = value;
  };
  for (const [name, value] of options) {
    if (
      (/^(data|json)/.test(name) && name !== 'data-raw' && /^@/.test(value)) ||
      (name === 'header' && value[0] === '@')
    )
      throw new NotUnderstood(`“${value}” is a file of your machine: paste what it holds.`);
    if (name === 'url') urls.push(value);
    else if (name === 'request') method = value.toUpperCase();
    else if (name === 'header') {
      const colon = value.indexOf(':');
      if (colon < 1) throw new NotUnderstood(`The header “${value}” has no colon.`);
      set(value.slice(0, colon).trim(), value.slice(colon + 1).trim());
    } else if (name === 'user-agent') set('User-Agent', value);
    else if (name === 'referer') set('Referer', value);
    else if (name === 'cookie') {
      if (!value.includes('=')) throw new NotUnderstood(`“${value}” is a file of cookies: paste the cookies.`);
      set('Cookie', value);
    } else if (name === 'user') {
      const colon = value.indexOf(':');
      if (colon < 1) throw new NotUnderstood('The option --user needs a name, a colon and a password.');
      authentication = { type: 'Basic', username: value.slice(0, colon), password: value.slice(colon + 1) };
    } else if (name === 'data-urlencode') data.push(urlencoded(value));
    else if (/^(data|json)/.test(name)) data.push(value);
  }
  const has = (name: string) => options.some(([one]) => one === name);
  const [url, second] = urls;
  if (url === undefined) throw new NotUnderstood('This call of curl has no URL.');
  if (second !== undefined) throw new NotUnderstood(`It calls “${url}” and “${second}”: paste a call of one URL.`);
  const body = data.join(has('json') ? '' : '&');
  const isQuery = has('get');
  const uri = `${schemeOf(url) ? '' : 'http://'}${url}${isQuery && body ? (url.includes('?') ? '&' : '?') + body : ''}`;
  const isSent = data.length > 0 && !isQuery;
  if (has('json')) set('Accept', 'application/json', true);
  if (isSent) set('Content-Type', has('json') ? 'application/json' : 'application/x-www-form-urlencoded', true);
  return {
    type: schemeOf(uri) ?? 'Http',
    request: {
      method: method ?? (has('head') ? 'HEAD' : isSent ? 'POST' : 'GET'),
      uri,
      ...(Object.keys(headers).length > 0 && { headers }),
      ...(isSent && { body }),
      ...(authentication && { authentication }),
    },
  };
}
