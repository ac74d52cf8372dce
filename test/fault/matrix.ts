import type { Row } from './row.ts';
import { killed } from './rows/kills.ts';

/** Every fault, in the order in which they are run on one set of parts. */
export const MATRIX: readonly Row[] = [killed('dedup')];
