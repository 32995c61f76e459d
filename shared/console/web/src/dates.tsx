// An instant as a person writes it, with what was understood below it.
import { useState } from 'preact/hooks';
import { isZone, meant, parts } from './clock';
import { isoSeconds } from './document';
import { now, oclock } from './time';
import { Field } from './ui';

/** An instant that says its offset from UTC, as documents have it. */
const INSTANT = /^\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d)$/i;

/** Whether a job fires at once, which the word `now` says. */
export interface AtOnce {
  is: boolean;
  set: (is: boolean) => void;
}

/** `14 Mar 2027 9:00` or `tomorrow 9:00` on a zone's clock. What is not understood is left to the server. */
export function DateField({
  label,
  placeholder,
  problem,
  value,
  zone: wanted,
  atOnce,
  write,
}: {
  label: string;
  placeholder: string;
  problem: string | undefined;
  value: string;
  zone: string;
  atOnce: AtOnce | null;
  write: (value: string | undefined) => void;
}) {
  const zone = isZone(wanted) ? wanted : 'UTC';
  const [typed, setTyped] = useState({ text: atOnce?.is ? 'now' : value, sent: value, isFirst: false });
  // What was typed stays as it was typed, unless the document has something else by now.
  const { text, isFirst } = typed.sent === value ? typed : { text: value, isFirst: false };
  const take = (text: string) => {
    const isNow = atOnce !== null && /^now$/i.test(text.trim());
    const found = meant(text, zone, now(), true) ?? [];
    const sent = isNow ? '' : found[0] === undefined ? text : isoSeconds(found[0]);
    setTyped({ text, sent, isFirst: found.length > 1 });
    atOnce?.set(isNow);
    write(sent || undefined);
  };
  const at = INSTANT.test(value) ? Date.parse(value) : Number.NaN;
  const it = Number.isNaN(at) ? null : parts(at, zone);
  return (
    <Field
      label={label}
      problem={problem}
      hint={
        it
          ? `${it.day} ${it.year} ${oclock(it.time, it.seconds)} ${it.offset} in ${zone}${isFirst ? ', the first of two' : ''}`
          : atOnce?.is && value === '' && 'Once when it is saved, and then as the rule says.'
      }
    >
      {(field) => (
        <input
          {...field}
          class="i"
          autocomplete="off"
          spellcheck={false}
          placeholder={placeholder}
          value={text}
          onInput={(event) => take(event.currentTarget.value)}
        />
      )}
    </Field>
  );
}
