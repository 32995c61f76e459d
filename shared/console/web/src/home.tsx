// The first page: it leads to the overview of what there is.
import { useEffect } from 'preact/hooks';
import { api } from './api';
import { Places } from './collections';
import { useLoad } from './load';
import { isSame, link, me, place } from './state';
import { Skeleton, Title } from './ui';

/** Leads to the overview of what there is: of the group that was looked at last, or of the only one with collections. */
export function Home() {
  const places = useLoad('home', api.places, null);
  const found = places.data ?? [];
  const isRead = places.data !== null || places.error !== null;
  const last = found.find(
    (one) => isSame(one.subscription, place.value.subscription) && isSame(one.group, place.value.group),
  );
  const one = last ?? (found.length > 1 ? undefined : (found[0] ?? place.value));
  useEffect(() => {
    if (isRead && one && me.value) location.replace(link('in', one.subscription, one.group, 'overview'));
  }, [isRead, one, me.value]);
  if (!isRead || one) {
    return (
      <>
        <Title voice>Overview</Title>
        <Skeleton rows={6} />
      </>
    );
  }
  return (
    <>
      <div class="head">
        <Title voice>Which group?</Title>
      </div>
      <section class="sheet form" aria-label="Groups with collections">
        <p class="muted">A group holds collections. This browser remembers the one that you choose.</p>
        <Places all={found} />
      </section>
    </>
  );
}
