// The settings of a collection, and its switch.
import { useState } from 'preact/hooks';
import { Action } from './actions';
import type { Collection, Document } from './answers';
import { api, ApiError } from './api';
import { Confirm, Dialog } from './dialog';
import { at, changes, put, text } from './document';
import { type Line, Lines, type Read } from './fields';
import { asError } from './load';
import { mendings } from './mend';
import { go, inPlace, may, place, say } from './state';
import { grouped } from './time';
import { Choice, ErrorPanel, Field, Mendings } from './ui';

/** Asks before a collection is switched. */
export function SwitchCollection({
  name,
  isOn,
  jobs,
  onDone,
  onClose,
}: {
  name: string;
  isOn: boolean;
  /** How many jobs it has, if that is known. */
  jobs: number | undefined;
  onDone: () => void;
  onClose: () => void;
}) {
  const own = jobs === 1 ? 'Its job does' : `Its ${jobs === undefined ? '' : `${grouped(jobs)} `}jobs do`;
  return (
    <Confirm
      title={`Switch ${name} ${isOn ? 'off' : 'on'}?`}
      verb={isOn ? 'Switch off' : 'Switch on'}
      text={
        isOn
          ? `${own} not fire until it is on again. What falls due in between is not made up for.`
          : 'Its jobs fire again from their next occurrence on.'
      }
      onYes={async () => {
        await api.switchCollection(place.value, name, !isOn);
        say(`${name} is ${isOn ? 'off' : 'on'}.`);
        onDone();
      }}
      onClose={onClose}
    />
  );
}

/** The settings of a collection as fields. */
const SETTINGS: readonly Line[] = [
  {
    path: 'sku.name',
    label: 'Plan',
    as: [
      ['Standard', 'Standard'],
      ['Free', 'Free'],
      ['P10Premium', 'P10 Premium'],
      ['P20Premium', 'P20 Premium'],
    ],
  },
  { path: 'quota.maxJobCount', label: 'Jobs at most', as: 'number', placeholder: "the plan's" },
  { path: 'minutehand.timeZone', label: 'Time zone of jobs that name none', placeholder: 'UTC' },
  { path: 'minutehand.maxPerSecond', label: 'Starts in a second, at most', as: 'number', placeholder: 'no limit' },
  { path: 'minutehand.maxConcurrent', label: 'Running at a time, at most', as: 'number', placeholder: 'no limit' },
];

const TAGS: readonly Line[] = [{ path: 'tags', label: 'Tags, one a line', as: 'pairs', placeholder: 'team: billing' }];

/** Who is told of failures, and when. */
const isChat = (read: Read) => read('format') !== '';
const ALERTS: readonly Line[] = [
  {
    path: 'format',
    label: 'What is sent',
    as: [
      ['', 'an event'],
      ['slack', 'a message to Slack'],
      ['teams', 'a card to Microsoft Teams'],
      ['discord', 'a message to Discord'],
      ['ntfy', 'a message to ntfy'],
      ['cloudevents', 'an event, to a secret URL'],
    ],
  },
  {
    path: 'request.uri',
    label: 'URL of the receiver, which is a secret',
    placeholder: 'https://…; (withheld) keeps the stored one',
    when: isChat,
  },
  { path: 'after', label: 'From so many failures in a row on', as: 'number', placeholder: '1' },
  { path: 'every', label: 'Of a job at most once in', as: 'span', placeholder: 'each failure' },
  {
    path: 'recovered',
    label: 'When a job works again',
    as: [
      ['', 'say nothing'],
      ['true', 'tell it', true],
    ],
    optionOf: (value) => (value === true ? 'true' : ''),
  },
  {
    path: 'alsoTell.paused',
    label: 'When a job pauses, although that is held back',
    as: [
      ['', 'say nothing'],
      ['true', 'tell it', true],
    ],
    optionOf: (value) => (value === true ? 'true' : ''),
    when: (read) => read('after') !== '' || read('every') !== '',
  },
  {
    path: 'alsoTell.missed',
    label: 'When an outage cost occurrences',
    as: [
      ['', 'say nothing'],
      ['true', 'tell it', true],
    ],
    optionOf: (value) => (value === true ? 'true' : ''),
  },
  { path: 'alsoTell.late', label: 'When one starts late, by more than', as: 'span', placeholder: 'not told' },
  { path: 'alsoTell.behind', label: 'When a limit lets one wait for more than', as: 'span', placeholder: 'not told' },
];

const NOTICES = [
  ['nothing', 'do nothing more'],
  ['call', 'perform an action'],
] as const;

const ON_FAILURE = 'properties.minutehand.onFailure';

/** A new collection, or the settings of one. */
export function Edit({ old, onDone, onClose }: { old: Collection | null; onDone: () => void; onClose: () => void }) {
  const first = (old
    ? { tags: old.tags ?? {}, properties: old.properties }
    : { properties: {} }) as unknown as Document;
  const [name, setName] = useState(old?.name ?? '');
  const [settings, setSettings] = useState(first);
  const [error, setError] = useState<ApiError | null>(null);
  const change = (next: Document) => {
    setError(null);
    setSettings(next);
  };
  const about = (error?.target ?? '').replace(/^properties\./, '');
  const of = (path: string) => {
    const own = path.replace(/^properties\./, '');
    return about === own || about.startsWith(`${own}.`) ? error?.message : undefined;
  };
  const submit = async (event: Event) => {
    event.preventDefault();
    try {
      const body = old ? changes(first, settings) : settings;
      // Clients of Azure are not told which property it is.
      const [problem] = await api.problemsOf(place.value, name, body, old ? 'patch' : 'put');
      if (problem) throw new ApiError(400, problem.code, problem.message, problem.target, null, null, problem.fixes);
      if (old) await api.patchCollection(place.value, name, body);
      else await api.putCollection(place.value, name, body);
    } catch (thrown) {
      setError(asError(thrown));
      return;
    }
    say(old ? `${old.name} is saved.` : `${name} is created.`);
    onDone();
    onClose();
    if (!old) go(inPlace('jobs', name));
  };
  const tryAlert = async (of: string) => {
    try {
      const { arrived, cause, message } = await api.testAlert(place.value, of);
      if (arrived) say('The alert arrived. What is not saved yet was not tried.');
      else
        setError(new ApiError(0, 'AlertLost', `The alert did not arrive${cause ? `: ${cause.text}` : ''}. ${message}`));
    } catch (thrown) {
      setError(asError(thrown));
    }
  };
  const form = { properties: settings, change, of };
  const tells = at(settings, ON_FAILURE) !== undefined;
  return (
    <Dialog title={old ? old.name : 'New collection'} onClose={onClose}>
      <Mendings.Provider value={mendings(settings, error, change)}>
        <form onSubmit={submit}>
          {!old && (
            <Field label="Name">
              {(given) => (
                <input
                  {...given}
                  class="i"
                  required
                  value={name}
                  autocomplete="off"
                  spellcheck={false}
                  onInput={(event) => setName(event.currentTarget.value)}
                />
              )}
            </Field>
          )}
          <Lines {...form} base="properties" lines={SETTINGS} />
          {old && (
            <>
              <Lines {...form} base="" lines={TAGS} />
              <p class="then">When an occurrence of any of its jobs has failed for good</p>
              <Choice
                label="When an occurrence has failed for good"
                value={tells ? 'call' : 'nothing'}
                options={NOTICES}
                onChange={(to) =>
                  change(
                    put(
                      settings,
                      ON_FAILURE,
                      to === 'call' ? { type: 'Https', request: { method: 'POST' } } : undefined,
                    ),
                  )
                }
              />
              {tells && (
                <div class="inner">
                  <Lines {...form} base={ON_FAILURE} lines={ALERTS} />
                </div>
              )}
              {tells && text(settings, `${ON_FAILURE}.format`) === '' && (
                <div class="inner">
                  <Action
                    {...form}
                    base={ON_FAILURE}
                    label="Type of the action"
                    isKept={at(first, ON_FAILURE) !== undefined}
                  />
                </div>
              )}
            </>
          )}
          {error && <ErrorPanel error={error} />}
          <p class="acts">
            {old && at(first, ON_FAILURE) !== undefined && may('run') && (
              <button type="button" class="btn" onClick={() => tryAlert(old.name)}>
                Send a test alert
              </button>
            )}
            <button type="button" class="btn" onClick={onClose}>
              Cancel
            </button>
            <button type="submit" class="btn go">
              {old ? 'Save' : 'Create'}
            </button>
          </p>
        </form>
      </Mendings.Provider>
    </Dialog>
  );
}
