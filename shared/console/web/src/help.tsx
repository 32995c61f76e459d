// The keys of all pages.
import { Dialog } from './dialog';

const HELP = [
  ['/ or Ctrl k', 'find a job, a collection or a page'],
  ['g o', 'overview'],
  ['g c', 'collections'],
  ['g j', 'jobs of the last collection'],
  ['g l', 'calendar'],
  ['g w', 'why not'],
  ['g d', 'dead letters'],
  ['g i', 'import'],
  ['g s', 'settings'],
  ['n', 'new'],
  ['j k ↑ ↓', 'move in a list'],
  ['Enter', 'open'],
  ['x, Shift x', 'choose one, a range'],
  ['e', 'edit'],
  ['w', 'why'],
  ['[ ]', 'the occurrence before or after; in the calendar, the time'],
  ['d w m', 'in the calendar: day, week, month'],
  ['l', 'calendar of the collection'],
  ['r', 'run now; asks once'],
  ['s', 'switch on or off'],
  ['y', 'copy as a command'],
  ['Ctrl Enter', 'save'],
  ['Ctrl /', 'form or JSON'],
  ['Esc', 'back'],
  ['?', 'these keys'],
] as const;

export function Keys({ onClose }: { onClose: () => void }) {
  return (
    <Dialog title="Keys" onClose={onClose}>
      <dl class="kv flat">
        {HELP.map(([key, text]) => (
          <>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{text}</dd>
          </>
        ))}
      </dl>
      <p class="acts">
        <button type="button" class="btn" onClick={onClose}>
          Close
        </button>
      </p>
    </Dialog>
  );
}
