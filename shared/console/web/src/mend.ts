// What the API says would be right, as changes of the document.
import type { Document, Problem } from './answers';
import { at, put } from './document';
import type { Mending } from './ui';

const path = (pointer = '') => pointer.slice(1).replaceAll('/', '.');

/** The changes that a problem offers where its sentence is shown. */
export const mendings =
  (document: Document, problem: Problem | null | undefined, change: (next: Document) => void) =>
  (said: string): Mending[] =>
    problem?.fixes && said.endsWith(problem.message)
      ? problem.fixes.map(({ label, patch }) => [
          label,
          () =>
            change(
              patch.reduce(
                (next, one) =>
                  put(
                    one.from ? put(next, path(one.from), undefined) : next,
                    path(one.path),
                    one.from ? at(next, path(one.from)) : one.value,
                  ),
                document,
              ),
            ),
        ])
      : [];
