import type { Replay } from '#schemas/setting.ts';

/** How long a replay sends before one of another account has its turn. */
const TURN_MS = 60_000;

/** A replay that may be carried on. */
export interface OpenReplay {
  replay: Replay;
  /** Whose it is; null where it is of all sites, whosever they are. */
  account: string | null;
  /** Whether it has sent some of what it is to send. */
  isBegun: boolean;
}

/**
 * Which of a destination's replays is carried on: the oldest of the account whose turn is the longest ago, so that nobody waits
 * for all that another account has asked for. One of all sites has to know what every other has sent: those that were begun
 * are ended before it, and none is begun while it waits.
 *
 * @param open The oldest first.
 * @param lastTurns When each account last had its turn.
 */
export function nextTurn(
  open: readonly OpenReplay[],
  lastTurns: ReadonlyMap<string | null, number>,
): OpenReplay | undefined {
  const begun = open.filter(({ isBegun }) => isBegun);
  const isAllAwaited = begun.length > 0 && open.some(({ account }) => account === null);
  const since = ({ account }: OpenReplay): number => lastTurns.get(account) ?? 0;
  return (isAllAwaited ? begun : open).toSorted((one, other) => since(one) - since(other))[0];
}

/**
 * Whether a replay that sends makes way for the next, to go on from where it is later. Only those of different accounts take
 * turns: their sites are different ones, so that neither has to know what the other has written and is not delivered yet.
 */
export function makesWay(account: string | null, next: OpenReplay | undefined, sentMs: number): boolean {
  return account !== null && sentMs >= TURN_MS && next !== undefined && ![account, null].includes(next.account);
}
