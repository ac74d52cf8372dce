// Commands that show health: a site's tag, events that were not accepted, deliveries.
import type { HealthItem } from '#services/control_api/destinations.ts';
import type {
  DefinitionHealth,
  RefusalSampleItem,
  RefusalsItem,
  TagHealthItem,
} from '#services/control_api/operations.ts';
import { renderList, renderTable, renderTime } from '#services/stage/terminal.ts';
import { type Arguments, type Command, type Context, given, type Outcome, pathOf, readMoment } from './command.ts';

const timeOf = (atMs: number | null): string => (atMs === null ? '-' : renderTime(atMs));

export const tagHealthCommand: Command = {
  noun: 'tag',
  verb: 'health',
  summary: "Say how a site's browser tag does",
  subject: null,
  options: {
    site: { kind: 'text', value: 'SITE', help: 'The site', required: true },
    pages: { kind: 'flag', help: 'Also the pages that sent events last' },
  },
  examples: ['tag health --site shop', 'tag health --site shop --pages', 'tag health --site shop --json'],
  run: showTagHealth,
};

async function showTagHealth(args: Arguments, { client }: Context): Promise<Outcome> {
  const health = await client.get<TagHealthItem>(`${pathOf('sites', args.text('site') ?? '')}/tag-health`);
  const pages = health.pages.map(({ page, last_event_at }) => [page, renderTime(last_event_at)]);
  const parts = [
    renderTable(['STATE', 'LAST EVENT', 'LAST HOUR', 'USUAL', 'LAST DAY', 'USUAL', 'SINCE'], [siteRow(health)], ''),
    renderTable(
      ['DEFINITION', 'NAME', 'STATE', 'FIRED', 'LAST FIRED', 'USUAL GAP'],
      health.definitions.map(definitionRow),
      'No event definition is enabled.',
    ),
    reportedLine(health),
    ...(args.flag('pages') ? [renderTable(['PAGE', 'LAST EVENT'], pages, 'No page is known.')] : []),
  ];
  return { text: parts.join('\n\n'), json: health };
}

function siteRow({ state, last_event_at, known_since, last_hour, last_day }: TagHealthItem): string[] {
  return [
    state,
    timeOf(last_event_at),
    String(last_hour.now),
    String(last_hour.usual ?? '-'),
    String(last_day.now),
    String(last_day.usual ?? '-'),
    timeOf(known_since),
  ];
}

function definitionRow({ id, name, state, fired, last_fired_at, usual_gap_ms }: DefinitionHealth): string[] {
  const gap = usual_gap_ms === null ? '-' : `${(usual_gap_ms / 1000).toFixed(0)} s`;
  return [id, name, state, String(fired), timeOf(last_fired_at), gap];
}

function reportedLine({ pages, reported }: TagHealthItem): string {
  const counts = Object.entries(reported).map(([name, count]) => `${name} ${count}`);
  return `Pages that sent events: ${pages.length}. Reported by browsers in 7 days: ${counts.join(', ')}.`;
}

export const refusalsCommand: Command = {
  noun: 'site',
  verb: 'refusals',
  summary: 'Say what was not accepted of a site, by reason',
  subject: { name: 'SITE', help: 'The site' },
  options: {
    from: { kind: 'text', value: 'WHEN', help: 'From when on, as 2027-01-31 or 12h (so long ago); 7d without it' },
    to: { kind: 'text', value: 'WHEN', help: 'Until when; now without it' },
    samples: { kind: 'flag', help: 'Also the newest samples' },
  },
  examples: ['site refusals shop', 'site refusals shop --from 12h --samples', 'site refusals shop --json'],
  run: showRefusals,
};

async function showRefusals(args: Arguments, { client, nowMs }: Context): Promise<Outcome> {
  const moment = (option: string): number | undefined => {
    const text = args.text(option);
    return text === undefined ? undefined : readMoment(text, option, nowMs);
  };
  const query = given({ from: moment('from'), to: moment('to') });
  const refusals = await client.get<RefusalsItem>(`${pathOf('sites', args.subject)}/refusals`, query);
  const { totals, samples, known_since, from, to } = refusals;
  const parts = [
    renderTable(
      ['KIND', 'CODE', 'COUNT'],
      totals.map(({ kind, code, count }) => [kind, code, String(count)]),
      'Everything was accepted.',
    ),
    `From ${renderTime(from)} to ${renderTime(to)}; counted since: ${known_since === null ? 'not known' : renderTime(known_since)}.`,
    ...(args.flag('samples') ? [samplesTable(samples)] : []),
  ];
  return { text: parts.join('\n\n'), json: refusals };
}

function samplesTable(samples: RefusalSampleItem[] | null): string {
  if (samples === null) return 'Samples take the permission query.events.';
  const headings = ['AT', 'KIND', 'CODE', 'EVENT', 'INDEX', 'CALLER', 'KEY', 'FIELDS'];
  return renderTable(headings, samples.map(sampleRow), 'There are no samples.');
}

function sampleRow({ at, kind, code, event, index, caller, key, fields }: RefusalSampleItem): string[] {
  const place = index === null ? '-' : String(index);
  return [
    renderTime(at),
    kind,
    code,
    event ?? '-',
    place,
    caller ?? '-',
    key?.shown_prefix ?? key?.key_id ?? '-',
    fields.join(' ') || '-',
  ];
}

export const healthCommand: Command = {
  noun: 'destination',
  verb: 'health',
  summary: 'Say how destinations have done in the last 24 hours',
  subject: null,
  options: {
    site: { kind: 'text', value: 'SITE', help: 'Only this site' },
    destination: { kind: 'text', value: 'NAME', help: 'Only this kind of destination' },
  },
  examples: ['destination health', 'destination health --destination meta --json'],
  run: showHealth,
};

async function showHealth(args: Arguments, { client }: Context): Promise<Outcome> {
  const query = given({ site_id: args.text('site'), destination: args.text('destination') });
  const { items } = await client.get<{ items: HealthItem[] }>('/delivery-health', query);
  const headings = [
    'SITE',
    'DESTINATION',
    'STATE',
    'DELIVERED',
    'WAITING',
    'DEAD',
    'SKIPPED',
    'AGE P99',
    'LAST DELIVERED',
    'LAST FAILURE',
  ];
  return {
    text: renderTable(headings, items.map(destinationRow), 'Nothing was delivered in the last 24 hours.'),
    json: items,
  };
}

function destinationRow(item: HealthItem): string[] {
  const state = item.reason === '' ? item.state : `${item.state} (${item.reason})`;
  const failure = item.failed_at === null ? '-' : `${renderTime(item.failed_at)} ${item.failed_reason}`;
  return [
    item.site_id,
    item.destination,
    state,
    String(item.delivered),
    String(item.waiting),
    String(item.dead),
    renderList(Object.entries(item.skipped).map(([reason, count]) => `${reason}=${count}`)),
    item.delivered === 0 ? '-' : `${(item.age_ms.p99 / 1000).toFixed(1)} s`,
    item.delivered_at === null ? 'never' : renderTime(item.delivered_at),
    failure,
  ];
}
