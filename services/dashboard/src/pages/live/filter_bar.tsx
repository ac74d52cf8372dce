import type { VNode } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { ask } from '../../api/questions.ts';
import { useAnswer } from '../../api/use_answer.ts';
import { setQuery } from '../../router.ts';
import { Combobox } from '../../ui/combobox.tsx';
import { TextField } from '../../ui/form_fields.tsx';
import { filterParameters, type LiveFilters } from './live_filters.ts';

const NAMES_MAX = 200;
const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;

/** Chooses which events are looked at; the address keeps it. The names of the last day are offered. */
export function FilterBar({ siteId, filters }: { siteId: string; filters: LiveFilters }): VNode {
  const [typed, setTyped] = useState(filters);
  const applied = useRef(filters);
  // The way back and forward changes them too; what was applied here comes back while more may have been typed.
  useEffect(() => {
    if (JSON.stringify(filters) !== JSON.stringify(applied.current)) setTyped(filters);
    applied.current = filters;
  }, [JSON.stringify(filters)]);
  const change = (part: Partial<LiveFilters>): void => setTyped((now) => ({ ...now, ...part }));
  const names = useAnswer(siteId, (signal) => {
    const to = Math.ceil(Date.now() / HOUR_MS) * HOUR_MS;
    return ask(siteId, 'top', { from: to - DAY_MS, to, field: { column: 'event' }, limit: NAMES_MAX }, signal);
  });
  const options = (names.value?.values ?? []).map(({ value }) => ({ value }));
  const isFiltered = Object.values(filters).some((text) => text !== '');
  const apply = (next: LiveFilters): void => {
    setTyped(next);
    applied.current = next;
    setQuery(filterParameters(next), 'push');
  };
  return (
    <form
      class="filter-bar"
      onSubmit={(event) => {
        event.preventDefault();
        apply(typed);
      }}
    >
      <Combobox
        label="Event"
        placeholder="Any event"
        takesOthers
        value={typed.event}
        options={options}
        onValue={(event) => apply({ ...typed, event })}
      />
      <TextField
        label="Distinct id"
        placeholder="Anybody"
        value={typed.distinctId}
        onValue={(distinctId) => change({ distinctId })}
      />
      <TextField
        label="Property"
        placeholder="cart.size"
        value={typed.property}
        onValue={(property) => change({ property })}
      />
      <TextField label="Its value" placeholder="Any value" value={typed.value} onValue={(value) => change({ value })} />
      <button type="submit" class="button primary">
        Filter
      </button>
      {isFiltered && (
        <button
          type="button"
          class="button"
          onClick={() => apply({ event: '', distinctId: '', property: '', value: '' })}
        >
          Clear
        </button>
      )}
    </form>
  );
}
