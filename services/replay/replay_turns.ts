import { makesWay, nextTurn, type OpenReplay } from '#pipelines/replay/account_turns.ts';
import { isOver } from '#pipelines/replay/progress.ts';
import type { SettingsTable } from '#pipelines/settings/table.ts';
import type { ReplayPhase } from '#schemas/replay_progress.ts';
import type { Replay } from '#schemas/setting.ts';

/** Whose turn it is at each destination. */
export interface ReplayTurns {
  /** Begins the turn of the replay that is to be carried on; undefined where there is none. */
  begin(destination: string): Replay | undefined;
  /** Whether a replay whose turn began then makes way for that of another account. */
  makesWay(replay: Replay, beganMs: number): boolean;
}

export interface ReplayTurnsOptions {
  table: Pick<SettingsTable, 'replays' | 'accountOfSite'>;
  phaseOf(replay: Replay): ReplayPhase;
  nowMs(): number;
}

export function createReplayTurns({ table, phaseOf, nowMs }: ReplayTurnsOptions): ReplayTurns {
  /** When each account last had its turn, by destination. */
  const lastTurns = new Map<string, Map<string | null, number>>();

  const accountOf = ({ site_id: siteId }: Replay): string | null =>
    siteId === null ? null : (table.accountOfSite(siteId)?.account_id ?? '');

  /** Those of a destination that may be carried on, the oldest first. */
  const openOf = (destination: string): OpenReplay[] =>
    table
      .replays()
      .filter((replay) => replay.destination === destination && replay.wanted !== 'paused' && !isOver(phaseOf(replay)))
      .map((replay) => ({
        replay,
        account: accountOf(replay),
        isBegun: ['sending', 'draining'].includes(phaseOf(replay)),
      }));

  function turnsAt(destination: string): Map<string | null, number> {
    const turns = lastTurns.get(destination) ?? new Map<string | null, number>();
    lastTurns.set(destination, turns);
    return turns;
  }

  const next = (destination: string): OpenReplay | undefined => nextTurn(openOf(destination), turnsAt(destination));

  return {
    begin(destination) {
      const turn = next(destination);
      if (turn !== undefined) turnsAt(destination).set(turn.account, nowMs());
      return turn?.replay;
    },
    makesWay(replay, beganMs) {
      // Counting begins anew when it was stopped, and would never end.
      if (phaseOf(replay) !== 'sending') return false;
      return makesWay(accountOf(replay), next(replay.destination), nowMs() - beganMs);
    },
  };
}
