import type { RefusalSampleItem, RefusalsItem } from '#services/control_api/refusal_shapes.ts';
import { renderTable, renderTime } from '#services/render.ts';
import { given } from './changes.ts';
import type { Arguments, Command, Context, Outcome } from './command.ts';
import { pathOf, readMoment } from './values.ts';

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
