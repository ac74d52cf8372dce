import { attempt } from './guarded.ts';

/** A UUID of version 7 (RFC 9562): the time, then what is random. Sorted as texts, ids are in order of time. */
export const uuid7 = (nowMs: number): string => {
  const time = nowMs.toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7${randomTail()}`;
};

/** When an id of version 7 was made. */
export const msOf = (uuid: string): number => Number(`0x${uuid.replace('-', '').slice(0, 12)}`);

/** The end of a random UUID, the variant's digit included. */
const randomTail = (): string => {
  // Only pages over https have it. Ids tell events apart and guard nothing.
  return (
    attempt(() => crypto.randomUUID().slice(15)) ??
    'xxx-8xxx-xxxxxxxxxxxx'.replace(/x/g, () => ((Math.random() * 16) | 0).toString(16))
  );
};
