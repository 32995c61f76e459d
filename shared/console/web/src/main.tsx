// The frame around every page: where one is, the clock of the schedule, and how to get elsewhere.
import { render } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { api, clockOffset, isRefused, seen, takeToken, token } from './api';
import { Calendar } from './calendar';
import { parts } from './clock';
import { Collections } from './collections';
import { DeadLetters } from './dead';
import { EditJob, NewJob } from './editor';
import { Keys } from './help';
import { Home } from './home';
import { Import } from './import';
import { finishLogin } from './issuer';
import { JobPage } from './job';
import { Jobs } from './jobs';
import { Journal } from './journal';
import { useKeys } from './keys';
import { isLive } from './live';
import { age, asError, useLoad, whenKnown } from './load';
import { countOf, needs, readNeeds } from './needs';
import { Overview } from './overview';
import { Palette } from './palette';
import { Settings } from './settings';
import { loginError, SignIn } from './signin';
import { span } from './spans';
import { go, guard, inPlace, isHere, isOurs, lastCollection, link, me, place, route, said, theme, tick } from './state';
import { grouped, mine, now, oclock } from './time';
import { ErrorPanel, Key, Skeleton, Title } from './ui';
import { ThenPage } from './then';
import { Wall } from './wall';
import { WhyPage } from './why';

takeToken();
finishLogin().catch((thrown) => {
  loginError.value = asError(thrown);
  isRefused.value = true;
});
addEventListener('hashchange', takeToken, true);

/** The pages of the rail: what happens, and below it what one does more rarely. */
const PAGES = [
  [
    ['overview', 'Overview'],
    ['collections', 'Collections'],
    ['calendar', 'Calendar'],
    ['wall', 'Wall'],
    ['why', 'Why not?'],
    ['dead', 'Dead letters'],
  ],
  [
    ['import', 'Import'],
    ['journal', 'Journal'],
    ['settings', 'Settings'],
  ],
] as const;

/** How often the counts beside the pages are read. */
const COUNTS_SECONDS = 60;

/** What there is of a page's things, by the last overview that was read. */
function Count({ of }: { of: string }) {
  const found = seen.value?.subscription === place.value.subscription ? seen.value.found : null;
  if (!found) return null;
  const own = found.collections.items.filter(isHere);
  const counts: Record<string, number | null | undefined> = {
    overview: countOf(found),
    collections: own.length,
    dead: found.deadLetters,
  };
  const count = counts[of];
  if (!count) return null;
  return (
    <span class={of === 'collections' ? 'n' : 'n hot'}>
      {grouped(count)}
      {of === 'overview' && <span class="vh"> {count === 1 ? 'needs' : 'need'} you</span>}
    </span>
  );
}

/** How often it is read what needs someone. */
const NEEDS_SECONDS = 10;

/** Reads what needs someone, and says how many things do in the title of the tab and by its picture. */
function useNeeds(title: string) {
  // Before that the server's clock is not known.
  const isRead = me.value !== null;
  const loaded = useLoad(
    `needs ${place.value.subscription} ${isRead}`,
    whenKnown(readNeeds),
    NEEDS_SECONDS,
    true,
    isOurs,
  );
  useEffect(() => {
    needs.value = loaded;
  }, [loaded.data, loaded.error, loaded.at]);
  const found = seen.value?.subscription === place.value.subscription ? seen.value.found : null;
  const count = countOf(found);
  useEffect(() => {
    document.title = `${count > 0 ? `(${grouped(count)}) ` : ''}${title} · Minutehand`;
  }, [title, count]);
  useEffect(() => {
    document.querySelector('link[rel=icon]')?.setAttribute('href', icon(count > 0));
  }, [count > 0]);
}

/** The picture of the tab: a clock, red while something needs someone. */
const icon = (isRed: boolean) =>
  `data:image/svg+xml,${encodeURIComponent(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 26 26"><circle cx="13" cy="13" r="12" fill="${isRed ? '#B92C19' : '#15171A'}"/><path d="M13 13V4M13 13l5 4" stroke="#FDFCF9" stroke-width="3" stroke-linecap="round"/></svg>`)}`;

function Mark() {
  return (
    <svg viewBox="0 0 26 26" aria-hidden="true">
      <circle cx="13" cy="13" r="12" fill="none" stroke="currentColor" stroke-width="1.6" />
      <g stroke="currentColor" stroke-width="1.6">
        <path d="M13 2.4v2.8M13 20.8v2.8M2.4 13h2.8M20.8 13h2.8" />
        <path d="M13 13 9.2 8.6" stroke-width="2.4" />
      </g>
      <path d="M13 15.6 14.6 4.6" class="hand" stroke-width="1.8" />
      <circle cx="13" cy="13" r="1.7" class="dot" />
    </svg>
  );
}

function App() {
  const loaded = useLoad(`me ${token.value ?? ''}`, api.me, 60, true);
  const [helps, setHelps] = useState(false);
  const [finds, setFinds] = useState(false);
  const page = current();
  useEffect(() => {
    if (loaded.data) me.value = loaded.data;
  }, [loaded.data]);
  // These pages read it themselves.
  const isOwn =
    me.value === null ||
    page.section === 'overview' ||
    page.section === 'wall' ||
    (page.section === 'collections' && !route.value.parts[4]);
  useLoad(
    `rail ${place.value.subscription} ${isOwn}`,
    async () => {
      if (!isOwn) await api.overview(place.value);
    },
    COUNTS_SECONDS,
    true,
    isOurs,
  );
  useNeeds(page.title);
  useKeys({
    '/': () => setFinds(true),
    'Ctrl+k': () => setFinds(true),
    '?': () => setHelps(true),
    'g o': () => go(inPlace('overview')),
    'g c': () => go(inPlace('collections')),
    'g l': () => go(inPlace('calendar')),
    'g j': () => go(lastCollection.value ? inPlace('jobs', lastCollection.value) : inPlace('collections')),
    'g w': () => go(inPlace('why')),
    'g d': () => go(inPlace('dead')),
    'g i': () => go(inPlace('import')),
    'g s': () => go(link('settings')),
  });
  return (
    <>
      <a
        class="skiplink"
        href="#main"
        onClick={(event) => {
          event.preventDefault();
          document.getElementById('main')?.focus();
        }}
      >
        Skip to the content
      </a>
      <div class={page.section === 'wall' ? 'app wall' : 'app'}>
        <header class="rail" aria-label="Pages">
          <a class="brand" href={inPlace('overview')}>
            <Mark />
            Minutehand
          </a>
          <a class="ctx" href={link('settings')}>
            <b>
              {place.value.subscription} / {place.value.group}
            </b>
            <span>
              {me.value?.home === 'aws' ? `AWS ${me.value.region}` : location.host}
              <span class="vh">: change</span>
            </span>
          </a>
          <nav aria-label="Main">
            {PAGES.map((pages, row) => (
              <div key={row} class="part">
                {pages.map(([key, label]) => (
                  <a
                    key={key}
                    href={key === 'settings' ? link(key) : inPlace(key)}
                    aria-current={page.section === key ? 'page' : undefined}
                  >
                    {label}
                    <Count of={key} />
                  </a>
                ))}
              </div>
            ))}
          </nav>
          <div class="foot">
            <span>
              {me.value && `${me.value.version} · tz ${me.value.timeZones}`}
              {me.value?.principal.kind === 'nobody' && (
                <>
                  <br />
                  Nobody is asked for a token here.
                </>
              )}
            </span>
            <ThemeButton />
          </div>
        </header>
        <div>
          <section class="top" aria-label="Go to, and the clock">
            <button type="button" class="find" aria-haspopup="dialog" onClick={() => setFinds(true)}>
              <span>Find a job, a collection or a page…</span>
              <Key>/</Key>
            </button>
            <Clock isThere={loaded.error === null} />
          </section>
          <main id="main" tabIndex={-1}>
            {loaded.error && loaded.error.status === 0 && (
              <ErrorPanel error={loaded.error} retryAt={loaded.retryAt} onRetry={loaded.reload} />
            )}
            {isRefused.value && me.value === null ? <Skeleton rows={6} /> : page.body}
          </main>
        </div>
      </div>
      <p class="toast" role="status">
        {said.value}
      </p>
      <SignIn />
      {finds && <Palette onClose={() => setFinds(false)} />}
      {helps && <Keys onClose={() => setHelps(false)} />}
    </>
  );
}

function current() {
  const { parts } = route.value;
  const [first, , , page, collection, job] = parts;
  if (first === 'settings') return { section: 'settings', title: 'Settings', body: <Settings /> };
  if (first === undefined) return { section: 'overview', title: 'Overview', body: <Home /> };
  if (first === 'in' && page === 'collections') {
    return { section: 'collections', title: 'Collections', body: <Collections /> };
  }
  if (first === 'in' && (page === 'overview' || page === undefined))
    return {
      section: 'overview',
      title: 'Overview',
      body: <Overview key={`${place.value.subscription}/${place.value.group}`} />,
    };
  if (first === 'in' && page === 'wall')
    return { section: 'wall', title: 'Wall', body: <Wall key={place.value.subscription} /> };
  if (first === 'in' && page === 'calendar')
    return { section: 'calendar', title: 'Calendar', body: <Calendar key={place.value.subscription} /> };
  if (first === 'in' && page === 'why')
    return { section: 'why', title: 'Why not?', body: <WhyPage key={`${collection}/${job}`} /> };
  if (first === 'in' && page === 'then')
    return { section: 'calendar', title: 'What happened', body: <ThenPage collection={collection} /> };
  if (first === 'in' && page === 'dead') return { section: 'dead', title: 'Dead letters', body: <DeadLetters /> };
  if (first === 'in' && page === 'journal')
    return {
      section: 'journal',
      title: `Journal${collection ? ` of ${collection}` : ''}`,
      body: <Journal key={collection} collection={collection ?? null} />,
    };
  if (first === 'in' && page === 'import') return { section: 'import', title: 'Import', body: <Import /> };
  if (first === 'in' && collection) {
    const section = 'collections';
    if (page === 'jobs') return { section, title: collection, body: <Jobs key={collection} collection={collection} /> };
    if (page === 'new') return { section, title: 'New job', body: <NewJob collection={collection} /> };
    if (page === 'job' && job)
      return { section, title: job, body: <JobPage key={`${collection}/${job}`} collection={collection} name={job} /> };
    if (page === 'edit' && job)
      return {
        section,
        title: `Edit ${job}`,
        body: <EditJob key={`${collection}/${job}`} collection={collection} name={job} />,
      };
  }
  const body = (
    <>
      <Title>There is no such page</Title>
      <p>
        <a href={inPlace('collections')}>Collections</a>
      </p>
    </>
  );
  return { section: '', title: 'No such page', body };
}

/** What was read within this time was read just now: the text would change with each look. */
const MOMENT_MS = 15_000;

/** The schedule's own clock, which is not always the wall's. */
function Clock({ isThere }: { isThere: boolean }) {
  tick.value;
  const read = age();
  const ago = read === null ? 0 : Date.now() - read.at;
  const isOld = read?.isOld ?? !isThere;
  const live = isLive.value && !isOld;
  clockOffset.value;
  const at = now();
  const utc = parts(at, 'UTC');
  const own = parts(at, mine);
  const rate = me.value?.clockRate ?? 1;
  return (
    <>
      <div class="clock">
        <b>
          {utc.time}:{utc.seconds}
        </b>
        <span>
          UTC · {utc.day} {utc.year}
          <br />
          {rate === 1
            ? `${oclock(own.time)} in ${mine.split('/').pop()?.replaceAll('_', ' ')}, yours`
            : `a test clock, ${rate} times as fast`}
        </span>
      </div>
      <span class={`live${isOld ? ' off' : ''}`} role={isOld ? 'status' : undefined}>
        {live ? 'live' : read === null ? 'reading' : `read ${ago < MOMENT_MS ? 'just now' : `${span(ago)} ago`}`}
      </span>
    </>
  );
}

function ThemeButton() {
  const next = { system: 'light', light: 'dark', dark: 'system' } as const;
  return (
    <button
      type="button"
      class="btn bare sm"
      aria-label={`Theme: ${theme.value}. Change to ${next[theme.value]}`}
      onClick={() => (theme.value = next[theme.value])}
    >
      <svg class="half" viewBox="0 0 12 12" aria-hidden="true">
        <circle cx="6" cy="6" r="5" />
        <path d="M6 1a5 5 0 0 0 0 10z" />
      </svg>
    </button>
  );
}

/** Leaving a page with changes asks first. */
let shown = location.hash;
addEventListener(
  'hashchange',
  () => {
    const reason = guard.value?.();
    if (reason && !confirm(reason)) history.replaceState(null, '', shown);
    else shown = location.hash;
  },
  true,
);
addEventListener('beforeunload', (event) => {
  if (guard.value?.()) event.preventDefault();
});
setInterval(() => {
  if (!document.hidden) tick.value += 1;
}, 1_000);

const root = document.getElementById('app');
if (root) render(<App />, root);
