import { useEffect } from 'preact/hooks';
import { timeOfDay, timeZone } from '../../format.ts';
import type { Period } from '../../period.ts';
import { ChoiceField } from '../../questions/filter_fields.tsx';
import { currentLocation, setQuery } from '../../router.ts';
import { Button } from '../../ui/button.tsx';

const PARAMETER = 'wall';
const EVERY = { '1': 'minute', '5': '5 minutes', '15': '15 minutes', '60': 'hour' };
type Minutes = keyof typeof EVERY;
const isMinutes = (text: string): text is Minutes => text in EVERY;

/** How often a board on a wall is read anew, as the address says it; null: it is on none. */
function wallMinutes(): Minutes | null {
  const text = currentLocation.value.query.get(PARAMETER);
  if (text === null) return null;
  return isMinutes(text) ? text : '1';
}

/** The same in milliseconds. */
export function wallEveryMs(): number | null {
  const minutes = wallMinutes();
  return minutes === null ? null : Number(minutes) * 60_000;
}

interface BoardHeadProps {
  name: string;
  period: Period;
  /** When it was read last. */
  readMs: number;
  /** Null: the person may not. */
  onShare: (() => void) | null;
}

/** The name of a board, and the way to a wall: without navigation, in larger letters, read anew by itself. Escape leads back. */
export function BoardHead({ name, period, readMs, onShare }: BoardHeadProps) {
  const minutes = wallMinutes();
  const isWall = minutes !== null;
  useEffect(() => {
    if (!isWall) return undefined;
    const onKeyDown = (event: KeyboardEvent): void => {
      if (event.key === 'Escape' && !event.defaultPrevented) leave();
    };
    // In the browser's own full screen Escape is the browser's.
    const onFullScreen = (): void => {
      if (document.fullscreenElement === null) leave();
    };
    document.addEventListener('keydown', onKeyDown);
    document.addEventListener('fullscreenchange', onFullScreen);
    return () => {
      document.removeEventListener('keydown', onKeyDown);
      document.removeEventListener('fullscreenchange', onFullScreen);
      if (document.fullscreenElement !== null) void document.exitFullscreen();
    };
  }, [isWall]);
  return (
    <div class="row board-head">
      <p class="strong board-name">{name}</p>
      {isWall && (
        <>
          <span class="muted">
            {period.label}, {timeZone()}
          </span>
          <span class="muted small">Updated {timeOfDay(readMs)}</span>
          <ChoiceField
            label="Update every"
            value={minutes}
            labels={EVERY}
            onChoice={(chosen) => setQuery({ [PARAMETER]: chosen })}
          />
        </>
      )}
      {!isWall && onShare !== null && <Button kind="small" label="Share" onClick={onShare} />}
      <Button
        kind="small"
        icon={isWall ? 'close' : 'wide'}
        label={isWall ? 'Leave full screen' : 'Full screen'}
        onClick={isWall ? leave : enter}
      />
    </div>
  );
}

function enter(): void {
  setQuery({ [PARAMETER]: '1' }, 'push');
  // Where the browser refuses, the board has the whole window.
  document.documentElement.requestFullscreen?.().catch(() => undefined);
}

const leave = (): void => setQuery({ [PARAMETER]: null }, 'push');
