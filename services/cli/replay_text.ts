import type { ReplayItem } from '#services/control_api/replay_shapes.ts';

/** What a replay waits for, by its code. */
const WAITS_FOR: Record<string, string> = {
  delivery: 'delivery to come to the end of the range by itself, at most 30 s',
  earlier_replay: 'delivery to take what an earlier replay has written',
  warehouse: 'every outcome to be in ClickHouse',
};

/** Whether nothing more comes of it by itself. */
export function hasEnded({ state }: ReplayItem): boolean {
  return state === 'done' || state === 'cancelled' || state === 'failed' || state === 'paused';
}

/** One line of progress. */
export function lineOf(replay: ReplayItem): string {
  const { state, detail, share_read, chosen, to_send } = replay;
  const percent = `${Math.floor((share_read ?? 0) * 100)} %`;
  switch (state) {
    case 'waiting':
      return `waiting${detail === '' ? '' : ` for ${WAITS_FOR[detail] ?? detail}`}`;
    case 'counting':
      return `counting: ${percent} read, ${chosen} to send`;
    case 'sending':
      return `sending: ${chosen} of ${to_send ?? '?'}, ${durationOf(replay.estimate_ms)} left`;
    case 'draining':
      return `${chosen} written, delivery takes them`;
    case 'paused':
    case 'done':
    case 'cancelled':
    case 'failed':
      return state;
  }
}

/** Everything of a replay that an operator asks for. */
export function detailsOf(replay: ReplayItem): string {
  const { replay_id, destination, state, detail } = replay;
  const lines = [`Replay ${replay_id} to ${destination}: ${state}${detail === '' ? '' : ` (${detail})`}`];
  if (replay.share_read === null) return lines.join('\n');
  lines.push(
    `  events looked at     ${replay.seen}`,
    `  delivered already    ${replay.delivered}`,
    `  waiting on a lane    ${replay.pending}`,
    `  cannot be read       ${replay.unreadable}`,
    `  to send              ${replay.to_send ?? replay.chosen}`,
  );
  if (replay.skipped_before > 0) {
    lines.push(`  of these             ${replay.skipped_before} were skipped before, and are decided anew`);
  }
  if (replay.dry_run) lines.push(`  would take about     ${durationOf(replay.estimate_ms)} at ${replay.rate} a second`);
  else lines.push(`  written for delivery ${replay.to_send === null ? 0 : replay.chosen}`);
  if (replay.not_reached > 0) lines.push(`  left to delivery     ${replay.not_reached} offsets it has yet to reach`);
  return lines.join('\n');
}

function durationOf(ms: number | null): string {
  if (ms === null) return 'an unknown time';
  const seconds = Math.ceil(ms / 1000);
  if (seconds < 120) return `${seconds} s`;
  const minutes = Math.ceil(seconds / 60);
  return minutes < 120 ? `${minutes} min` : `${Math.ceil(minutes / 60)} h`;
}
