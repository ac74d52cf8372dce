import type { DefinitionHealth, TagHealthItem } from '#services/control_api/tag_health_shapes.ts';
import { renderTable, renderTime } from '#services/render.ts';
import type { Arguments, Command, Context, Outcome } from './command.ts';
import { pathOf } from './values.ts';

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

const timeOf = (atMs: number | null): string => (atMs === null ? '-' : renderTime(atMs));
