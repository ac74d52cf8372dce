import type { VNode } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { number } from '../../format.ts';

/** A node or a link that was chosen, and where what can be done with it opens. */
export interface ChosenWay {
  place: number;
  /** The values that it goes through; null: others. */
  way: (string | null)[];
  paths: number;
  x: number;
  y: number;
  /** What was pressed, which has the focus again afterwards. */
  by: HTMLElement | SVGElement;
}

interface PathMenuProps {
  chosen: ChosenWay;
  /** Lists who goes this way; left out where nobody may be listed. */
  onWho: (() => void) | undefined;
  /** Shows the paths that begin with a value. */
  onFrom: ((value: string) => void) | undefined;
  onClose(): void;
}

export const MENU_PX = 224;

/** What can be done with a node or a link of paths. Escape and leaving it close it. */
export function PathMenu({ chosen, onWho, onFrom, onClose }: PathMenuProps): VNode {
  const { way, paths, x, y, by } = chosen;
  const root = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => root.current?.querySelector('button')?.focus(), [by]);
  const values = valuesOf(way);
  const act = (done: () => void) => (): void => {
    by.focus();
    onClose();
    done();
  };
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset is of a form, and this is none.
    <div
      ref={root}
      role="group"
      class="menu-box path-menu"
      aria-label={wayName(way)}
      style={{ '--x': `${x}px`, '--y': `${y}px`, '--width': `${MENU_PX}px` }}
      onKeyDown={(event) => {
        if (event.key !== 'Escape') return;
        by.focus();
        onClose();
      }}
      onFocusOut={({ relatedTarget: to }) => {
        if (!(to instanceof Node && root.current?.contains(to) === true)) onClose();
      }}
    >
      <p class="muted small cut">{wayName(way)}</p>
      {onWho !== undefined && (
        <button type="button" class="menu-item" onClick={act(onWho)}>
          Show who ({number(paths)})
        </button>
      )}
      {onFrom !== undefined &&
        values.map((value) => (
          <button key={value} type="button" class="menu-item cut" onClick={act(() => onFrom(value))}>
            {way.length === 1 ? 'Paths from here' : `Paths from ${value}`}
          </button>
        ))}
    </div>
  );
}

/** The values that paths can begin with, each once. */
const valuesOf = (way: ChosenWay['way']): string[] => [...new Set(way.flatMap((value) => value || []))];

/** Whether the menu of a way has anything to choose. */
export const hasChoice = (way: ChosenWay['way'], may: { list: boolean; begin: boolean }): boolean =>
  may.list || (may.begin && valuesOf(way).length > 0);

/** A value of a place, as it is read. */
export const shown = (value: string | null): string => (value === null ? 'Others' : value === '' ? '(none)' : value);

/** The values of a way, one after the other. */
export const wayName = (way: readonly (string | null)[]): string => way.map(shown).join(' → ');
