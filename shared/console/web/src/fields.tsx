// Properties of a document as fields of a form: each is a line of a table.
import { useState } from 'preact/hooks';
import type { Document, JobProperties } from './answers';
import { at, isIdle, linesOf, number, put, text, textAsPairs } from './document';
import { asIsoSpan, isoSpan } from './spans';
import { Field, Options, Wrong } from './ui';

/** A value to choose: its key, its words, and what is written if that is not the key. */
type Option = readonly [key: string, words: string, value?: unknown];

/** A property and how it is written. */
export interface Line {
  /** Its path below the property that the table is about. */
  path: string;
  label: string;
  /** How it is written; a text if nothing else is said. Of options the first one is the default, which is not written. */
  as?: 'text' | 'number' | 'span' | 'long' | 'list' | 'pairs' | 'secret' | readonly Option[];
  /** What holds without it, or an example. */
  placeholder?: string;
  /** Whether it is offered. One that has a value always is. */
  when?: (read: Read, properties: JobProperties) => boolean;
  /** Properties that go when another option is chosen: they have no effect with it. */
  clears?: readonly string[];
  /** Which option a value is, if that is not its text. */
  optionOf?: (value: unknown) => string;
}

/** The text of a property at a path below that of the table. */
export type Read = (path: string) => string;

export interface Form {
  properties: JobProperties;
  change: (next: JobProperties) => void;
  /** What the API says about a property. */
  of: (path: string) => string | undefined;
}

interface LinesProps extends Form {
  base: string;
  lines: readonly Line[];
  /** Whether the server has secrets of this document: a field that stays empty keeps them. */
  isKept?: boolean;
}

export const reader =
  (properties: JobProperties, base: string): Read =>
  (path) =>
    text(properties, whole(base, path));

/** The path of a property in the document; a table about all of it has no path of its own. */
const whole = (base: string, path: string) => (base === '' ? path : `${base}.${path}`);

/** The lines of a table that are shown for a document. */
export function shownLines(lines: readonly Line[], base: string, properties: JobProperties): Line[] {
  const read = reader(properties, base);
  return lines.filter(
    (line) =>
      ((!line.when || line.when(read, properties)) && !isIdle(properties, whole(base, line.path))) ||
      at(properties, whole(base, line.path)) !== undefined,
  );
}

/** The fields of a table's lines in one row, which breaks where it has to. */
export function Lines({ base, lines, properties, change, of, isKept = false }: LinesProps) {
  const shown = shownLines(lines, base, properties);
  if (shown.length === 0) return null;
  return (
    <div class="row2 lines">
      {shown.map((line) => (
        <OneLine
          key={line.path}
          line={line}
          value={at(properties, whole(base, line.path))}
          problem={of(whole(base, line.path))}
          isKept={isKept}
          write={(value) => {
            const cleared = (line.clears ?? []).reduce(
              (next, path) => put(next, whole(base, path), undefined),
              properties as Document,
            );
            change(put(cleared, whole(base, line.path), value));
          }}
        />
      ))}
    </div>
  );
}

/** What the API says about a property that none of the lines shows. */
export function Unsaid({ base, lines, properties, of }: Omit<LinesProps, 'change'>) {
  const said = of(base);
  if (
    said === undefined ||
    shownLines(lines, base, properties).some((line) => of(whole(base, line.path)) !== undefined)
  )
    return null;
  return <Wrong>{said}</Wrong>;
}

interface OneProps {
  line: Line;
  value: unknown;
  problem: string | undefined;
  isKept: boolean;
  write: (value: unknown) => void;
}

function OneLine({ line, value, problem, isKept, write }: OneProps) {
  const { as = 'text', label, placeholder } = line;
  const words = value === undefined || value === null ? '' : String(value);
  if (typeof as !== 'string') {
    const key = line.optionOf
      ? line.optionOf(value)
      : (as.find(([one]) => one.toLowerCase() === words.toLowerCase())?.[0] ?? (words || as[0]?.[0] || ''));
    return (
      <Options
        label={label}
        value={key}
        options={as.map(([one, name]) => [one, name] as const)}
        problem={problem}
        onChange={(to) => write(to === as[0]?.[0] ? undefined : (as.find(([one]) => one === to)?.[2] ?? to))}
      />
    );
  }
  if (as === 'span') return <SpanField {...{ label, placeholder, problem, write }} value={words} />;
  if (as === 'list' || as === 'pairs')
    return <Written {...{ label, placeholder, problem, write }} value={value} as={as} />;
  return (
    <Field label={label} problem={problem}>
      {(field) =>
        as === 'long' ? (
          <textarea
            {...field}
            class="i"
            rows={2}
            spellcheck={false}
            placeholder={placeholder}
            value={words}
            onInput={(event) => write(event.currentTarget.value || undefined)}
          />
        ) : as === 'secret' ? (
          <input
            {...field}
            class="i"
            type="password"
            autocomplete="off"
            placeholder={isKept ? 'the stored one stays' : placeholder}
            value={words}
            onInput={(event) => write(event.currentTarget.value || undefined)}
          />
        ) : as === 'number' ? (
          <input
            {...field}
            class="i short"
            inputMode="decimal"
            placeholder={placeholder}
            value={words}
            onInput={(event) => write(number(event.currentTarget.value))}
          />
        ) : (
          <input
            {...field}
            class="i"
            autocomplete="off"
            spellcheck={false}
            placeholder={placeholder}
            value={words}
            onInput={(event) => write(event.currentTarget.value || undefined)}
          />
        )
      }
    </Field>
  );
}

interface TextProps<T> {
  label: string;
  placeholder?: string | undefined;
  problem: string | undefined;
  value: T;
  write: (value: unknown) => void;
}

/** A time that something takes: `1 h 30 min`, or as the document has it, `PT1H30M`. */
export function SpanField({ label, placeholder, problem, value, write }: TextProps<string>) {
  const [written, setWritten] = useState(isoSpan(value));
  // What was typed stays as it was typed, unless the document has another time by now.
  const shown = asIsoSpan(written) === value ? written : isoSpan(value);
  return (
    <Field label={label} problem={problem}>
      {(field) => (
        <input
          {...field}
          class="i short"
          spellcheck={false}
          autocomplete="off"
          placeholder={placeholder}
          value={shown}
          onInput={(event) => {
            setWritten(event.currentTarget.value);
            write(asIsoSpan(event.currentTarget.value) || undefined);
          }}
        />
      )}
    </Field>
  );
}

/** How a list, one entry a line, and names and values, `name: value` a line, are written and read. */
const WRITTEN = {
  list: {
    asText: (value: unknown) => (Array.isArray(value) ? value.map(String) : []).join('\n'),
    read: (text: string) => ({ value: linesOf(text), stray: undefined }),
  },
  pairs: { asText: pairsAsText, read: textAsPairs },
};

function Written({ as, label, placeholder, problem, value, write }: TextProps<unknown> & { as: keyof typeof WRITTEN }) {
  const { asText, read } = WRITTEN[as];
  const stored = asText(value);
  const [typed, setTyped] = useState<{ text: string; sent: string; stray: string | undefined }>({
    text: stored,
    sent: stored,
    stray: undefined,
  });
  // What was typed stays as it was typed, unless the document has something else by now.
  const { text: shown, stray } = typed.sent === stored ? typed : { text: stored, stray: undefined };
  const take = (text: string) => {
    const found = read(text);
    setTyped({ text, stray: found.stray, sent: found.stray === undefined ? asText(found.value) : stored });
    if (found.stray === undefined) write(Object.keys(found.value).length === 0 ? undefined : found.value);
  };
  return (
    <Field label={label} problem={stray === undefined ? problem : `“${stray}” has no colon; write “name: value”.`}>
      {(field) => (
        <textarea
          {...field}
          class="i"
          rows={Math.min(6, Math.max(2, shown.split('\n').length))}
          spellcheck={false}
          autocomplete="off"
          placeholder={placeholder}
          value={shown}
          onInput={(event) => take(event.currentTarget.value)}
        />
      )}
    </Field>
  );
}

function pairsAsText(value: unknown): string {
  return Object.entries((value ?? {}) as Record<string, unknown>)
    .map(([name, one]) => `${name}: ${String(one)}`)
    .join('\n');
}
