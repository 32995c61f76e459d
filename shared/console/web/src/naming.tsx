// The name of a new job: checked as it is written, by its rules and by what is there.
import { useEffect, useState } from 'preact/hooks';
import { api } from './api';
import { place } from './state';
import { Field, Mendings } from './ui';

/** How long the last key rests before the server is asked. */
const REST_MS = 300;
const CHARS_MAX = 100;

/** Whether the server takes a text as the name of a job. */
export const isName = (name: string) => name.length <= CHARS_MAX && /^[a-z0-9][\w.-]*$/i.test(name);

/** A name that is near to a text; empty if nothing of it can stay. */
const nameLike = (text: string) =>
  text
    .trim()
    .replace(/[^\w.-]+/g, '-')
    .replace(/^[^a-z0-9]+|-+$/gi, '')
    .slice(0, CHARS_MAX);

export const takenBy = (collection: string, name: string) =>
  `${collection} has a job ${name} already: take another name, or edit that one.`;

/** Whether a collection has a job of a name. What cannot be asked is left to the server. */
function useTaken(collection: string, name: string): boolean {
  const [taken, setTaken] = useState('');
  useEffect(() => {
    if (!isName(name)) return;
    let isOver = false;
    const timer = setTimeout(() => {
      api.hasJob(place.value, collection, name).then(
        (has) => isOver || setTaken(has ? name : ''),
        () => {},
      );
    }, REST_MS);
    return () => {
      isOver = true;
      clearTimeout(timer);
    };
  }, [collection, name]);
  return taken !== '' && taken === name;
}

export function NameField({
  collection,
  name,
  setName,
  problem,
}: {
  collection: string;
  name: string;
  setName: (name: string) => void;
  problem: string | undefined;
}) {
  const isTaken = useTaken(collection, name);
  const isWrong = name !== '' && !isName(name);
  const like = isWrong ? nameLike(name) : '';
  const said = isWrong
    ? `A name has 1 to ${CHARS_MAX} letters, digits, “-”, “_” and “.”, and begins with a letter or a digit.`
    : isTaken
      ? takenBy(collection, name)
      : problem;
  return (
    <Mendings.Provider value={() => (like ? [[`Use ${like}`, () => setName(like)]] : [])}>
      <Field label={`Name in ${collection}`} problem={said}>
        {(field) => (
          <input
            {...field}
            data-name
            class="i"
            value={name}
            autocomplete="off"
            spellcheck={false}
            onInput={(event) => setName(event.currentTarget.value)}
          />
        )}
      </Field>
    </Mendings.Provider>
  );
}
