import type { HealthItem } from '#services/control_api/delivery_health_shapes.ts';
import { renderList, renderTable, renderTime } from '#services/render.ts';
import { given } from './changes.ts';
import type { Arguments, Command, Context, Outcome } from './command.ts';

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
  return { text: renderTable(headings, items.map(row), 'Nothing was delivered in the last 24 hours.'), json: items };
}

function row(item: HealthItem): string[] {
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
