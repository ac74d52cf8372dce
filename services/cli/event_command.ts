import type { EventTrace } from '#pipelines/query/event_trace_shapes.ts';
import { renderTable, renderTime, renderValue } from '#services/render.ts';
import type { Arguments, Command, Context, Outcome } from './command.ts';

export const eventTraceCommand: Command = {
  noun: 'event',
  verb: 'show',
  summary: 'Show what became of one event, from its acceptance to each destination',
  subject: {
    name: 'SITE EVENT',
    help: 'the site, and the id of the event as it was sent or as live show has it',
    words: 2,
  },
  options: {},
  examples: ['event show shop order-2001', 'event show shop order-2001 --json'],
  run: showEvent,
};

async function showEvent({ subjects }: Arguments, { client }: Context): Promise<Outcome> {
  const [siteId = '', eventId = ''] = subjects;
  const trace = await client.event<EventTrace>(siteId, eventId);
  const attempts = trace.destinations.flatMap(({ destination, attempts: made }) =>
    made.map(({ attempt, attempted_at, outcome, reason, took_ms, answer }) => [
      destination,
      String(attempt),
      renderTime(attempted_at),
      outcome,
      reason === '' ? '-' : reason,
      took_ms === 0 ? '-' : `${took_ms} ms`,
      answer === null ? '-' : `${answer.status} ${renderValue(answer.body)}`,
    ]),
  );
  const table = renderTable(['DESTINATION', 'ATTEMPT', 'MADE', 'OUTCOME', 'REASON', 'TOOK', 'ANSWER'], attempts, '');
  const text = [...trace.status.map(plainLine), ...(table === '' ? [] : ['', table])].join('\n');
  return { text, json: trace };
}

/** Without what terminals obey: ids and names are the sender's. */
const plainLine = (text: string): string => text.replace(/\p{C}+/gu, ' ');
