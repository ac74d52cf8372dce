import type { ReplayItem } from '#services/control_api/replay_shapes.ts';
import { renderTable, renderTime } from '#services/render.ts';
import { given, withoutMeta } from './changes.ts';
import type { Arguments, Command, Context, OptionSpec, Outcome } from './command.ts';
import { detailsOf, hasEnded, lineOf } from './replay_text.ts';
import { pathOf, readCount, readMoment } from './values.ts';

const subject = { name: 'REPLAY', help: 'the id of the replay' };
const START_OPTIONS: Record<string, OptionSpec> = {
  destination: { kind: 'text', value: 'NAME', help: 'The kind of destination, such as meta', required: true },
  site: { kind: 'text', value: 'SITE', help: 'Only events of this site (every site)' },
  from: { kind: 'text', value: 'WHEN', help: 'From when on: 2027-01-31T08:00Z, or 1h for an hour ago', required: true },
  to: { kind: 'text', value: 'WHEN', help: 'Until when: as above, or now', required: true },
  dead: { kind: 'flag', help: 'Take the dead letters of the destination, by when they died' },
  'dry-run': { kind: 'flag', help: 'Only count' },
  rate: { kind: 'text', value: 'NUMBER', help: 'Events per second at the most (500)' },
  force: { kind: 'flag', help: 'Send also what is known as delivered or waits on a lane' },
  detach: { kind: 'flag', help: 'Do not wait for its end' },
};

export const replayCommands: Command[] = [
  {
    noun: 'replay',
    verb: 'start',
    summary: 'Send again what a destination has not taken; the verb may be left out',
    subject: null,
    options: START_OPTIONS,
    examples: [
      'replay --destination meta --from 3h --to 1h --dry-run',
      'replay --destination webhook --site shop --from 2027-01-31T08:00Z --to 2027-01-31T12:00Z --rate 200',
      'replay --destination meta --dead --from 7d --to now',
    ],
    run: start,
  },
  {
    noun: 'replay',
    verb: 'list',
    summary: 'List replays with how far they are',
    subject: null,
    options: { destination: { kind: 'text', value: 'NAME', help: 'Only replays of this kind of destination' } },
    examples: ['replay list', 'replay list --destination meta --json'],
    run: list,
  },
  {
    noun: 'replay',
    verb: 'show',
    summary: 'Show how far a replay is',
    subject,
    options: { wait: { kind: 'flag', help: 'Wait for its end' } },
    examples: ['replay show rmd0x1-4f6k2v --wait'],
    run: async (args, context) =>
      args.flag('wait')
        ? await watched(await read(args.subject, context), context)
        : shown(await read(args.subject, context)),
  },
  changeCommand('pause', 'Stop a replay where it is', 'paused'),
  changeCommand('resume', 'Carry a paused replay on', 'running'),
  changeCommand('cancel', 'End a replay; what it has written already is delivered', 'cancelled'),
];

function changeCommand(verb: string, summary: string, wanted: ReplayItem['wanted']): Command {
  return {
    noun: 'replay',
    verb,
    summary,
    subject,
    options: {},
    examples: [`replay ${verb} rmd0x1-4f6k2v`],
    run: async (args, { client }) =>
      shown(await client.send<ReplayItem>('PATCH', pathOf('replays', args.subject), null, { wanted })),
  };
}

async function start(args: Arguments, context: Context): Promise<Outcome> {
  const body = {
    destination: args.text('destination'),
    ...given({ site_id: args.text('site'), rate: readCount(args, 'rate') }),
    source: args.flag('dead') ? 'dead_letters' : 'events',
    from: readMoment(args.text('from') ?? '', 'from', context.nowMs),
    to: readMoment(args.text('to') ?? '', 'to', context.nowMs),
    dry_run: args.flag('dry-run'),
    force: args.flag('force'),
  };
  const replay = await context.client.send<ReplayItem>('POST', '/replays', null, body);
  if (args.flag('detach')) return shown(replay);
  context.watch.say(`Replay ${replay.replay_id}. It goes on if this ends: replay show, pause, cancel take its id.`);
  return watched(replay, context);
}

const POLL_MS = 500;

/** Says how it goes until it has ended, or is paused. */
async function watched(first: ReplayItem, context: Context): Promise<Outcome> {
  let said = '';
  for (let replay = first; ; replay = await read(first.replay_id, context)) {
    if (hasEnded(replay)) return shown(replay);
    const line = lineOf(replay);
    if (line !== said) context.watch.say(line);
    said = line;
    await context.watch.sleep(POLL_MS);
  }
}

function read(replayId: string, { client }: Context): Promise<ReplayItem> {
  return client.get<ReplayItem>(pathOf('replays', replayId));
}

function shown(replay: ReplayItem): Outcome {
  return { text: detailsOf(replay), json: withoutMeta(replay) };
}

async function list(args: Arguments, { client }: Context): Promise<Outcome> {
  const replays = await client.list<ReplayItem>('/replays', given({ destination: args.text('destination') }));
  const headings = ['REPLAY', 'DESTINATION', 'SITE', 'OF', 'FROM', 'TO', 'STATE', 'SENT'];
  return { text: renderTable(headings, replays.map(row), 'There are no replays.'), json: replays.map(withoutMeta) };
}

function row(replay: ReplayItem): string[] {
  const sent = replay.state === 'counting' || replay.dry_run ? '-' : `${replay.chosen}/${replay.to_send ?? '?'}`;
  return [
    replay.replay_id,
    replay.destination,
    replay.site_id ?? '(all)',
    replay.source === 'events' ? 'events' : 'dead letters',
    renderTime(replay.from),
    renderTime(replay.to),
    replay.dry_run ? `${replay.state} (dry run)` : replay.state,
    sent,
  ];
}
