// Commands that show how a site does: its tag, and events that were not accepted.
import { pathOf } from '#services/control_api/client.ts';
import type {
  DefinitionHealth,
  RefusalSampleItem,
  RefusalsItem,
  TagHealthItem,
} from '#services/control_api/operations.ts';
import { renderTime } from '#services/stage/terminal.ts';
import { type Command, option, pathInSite, requiredOption, table } from './command.ts';
import { given, givenMoment } from './read.ts';

export const tagHealthCommand: Command = {
  usage: 'tag health',
  summary: "Show the health of a site's browser tag",
  options: [requiredOption('site <SITE>', 'The site'), option('pages', 'Also the pages that sent events last')],
  examples: ['tag health --site shop', 'tag health --site shop --pages', 'tag health --site shop --json'],
  async run(args, { client }) {
    const health = await client.get<TagHealthItem>(pathInSite(args, 'tag-health'));
    const { pages, reported, definitions } = health;
    const counts = Object.entries(reported).map(([name, count]) => `${name} ${count}`);
    const parts = [
      table<TagHealthItem>(
        {
          STATE: 'state',
          'LAST EVENT': 'last_event_at',
          'LAST HOUR': ({ last_hour }) => last_hour.now,
          USUAL: ({ last_hour }) => last_hour.usual,
          'LAST DAY': ({ last_day }) => last_day.now,
          'USUAL DAY': ({ last_day }) => last_day.usual,
          SINCE: 'known_since',
        },
        [health],
      ),
      table<DefinitionHealth>(
        {
          DEFINITION: 'id',
          NAME: 'name',
          STATE: 'state',
          FIRED: 'fired',
          'LAST FIRED': 'last_fired_at',
          'USUAL GAP': ({ usual_gap_ms: gapMs }) => (gapMs === null ? null : `${(gapMs / 1000).toFixed(0)} s`),
        },
        definitions,
        'No event definitions are enabled.',
      ),
      `Pages that sent events: ${pages.length}. Reported by browsers in 7 days: ${counts.join(', ')}.`,
      ...(args.flag('pages')
        ? [table({ PAGE: 'page', 'LAST EVENT': 'last_event_at' }, pages, 'No pages are known.')]
        : []),
    ];
    return { text: parts.join('\n\n'), json: health };
  },
};

export const refusalsCommand: Command = {
  usage: 'site refusals <SITE>',
  summary: 'Show rejected events and refused requests of a site, by reason',
  options: [
    option('from <WHEN>', 'From when on, as 2027-01-31 or 12h (so long ago); 7d without it'),
    option('to <WHEN>', 'Until when; now without it'),
    option('samples', 'Also the newest samples'),
  ],
  examples: ['site refusals shop', 'site refusals shop --from 12h --samples', 'site refusals shop --json'],
  async run(args, { client, nowMs }) {
    const query = given({ from: givenMoment(args, 'from', nowMs), to: givenMoment(args, 'to', nowMs) });
    const refusals = await client.get<RefusalsItem>(`${pathOf('sites', args.subject)}/refusals`, query);
    const { totals, samples, known_since, from, to } = refusals;
    const since = known_since === null ? 'not known' : renderTime(known_since);
    const parts = [
      table({ KIND: 'kind', CODE: 'code', COUNT: 'count' }, totals, 'Everything was accepted.'),
      `From ${renderTime(from)} to ${renderTime(to)}; counted since: ${since}.`,
      ...(args.flag('samples') ? [samplesTable(samples)] : []),
    ];
    return { text: parts.join('\n\n'), json: refusals };
  },
};

function samplesTable(samples: RefusalSampleItem[] | null): string {
  if (samples === null) return 'Samples need the permission query.events.';
  return table<RefusalSampleItem>(
    {
      AT: ({ at }) => renderTime(at),
      KIND: 'kind',
      CODE: 'code',
      EVENT: 'event',
      INDEX: 'index',
      CALLER: 'caller',
      KEY: ({ key }) => key?.shown_prefix ?? key?.key_id,
      FIELDS: ({ fields }) => fields.join(' '),
    },
    samples,
    'There are no samples.',
  );
}
