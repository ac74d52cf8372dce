import type { RefObject } from 'preact';
import { useRef, useState } from 'preact/hooks';

/** Height of a row of a table; the styles have it too. */
export const ROW_PX = 36;
/** Tables of fewer rows are drawn whole. */
const WHOLE_MAX = 120;
/** Rows are drawn in steps of so many, so that not every pixel of scrolling draws. */
const STEP = 10;

interface RowWindow {
  ref: RefObject<HTMLElement | null>;
  first: number;
  end: number;
  onScroll(event: Event): void;
}

/** Which rows of a scrolled table are drawn: those in sight, and some before and after. */
export function useWindow(rows: number, heightPx: number): RowWindow {
  const ref = useRef<HTMLElement>(null);
  const [step, setStep] = useState(0);
  const onScroll = (event: Event): void => {
    const top = (event.currentTarget as HTMLElement).scrollTop;
    setStep(Math.floor(top / ROW_PX / STEP));
  };
  return { ref, onScroll, ...windowOf(rows, step, heightPx) };
}

/** The rows that are drawn where the table is scrolled by so many steps. */
export function windowOf(rows: number, step: number, heightPx: number): { first: number; end: number } {
  if (rows <= WHOLE_MAX) return { first: 0, end: rows };
  const inSight = Math.ceil(heightPx / ROW_PX);
  const lastStep = Math.max(0, Math.floor((rows - inSight) / STEP));
  const first = Math.max(0, (Math.min(step, lastStep) - 1) * STEP);
  return { first, end: Math.min(rows, first + inSight + 3 * STEP) };
}
