import { isIP } from 'node:net';
import { isRecord } from '#services/local/platforms/standin.ts';

/** What a value must be, by the words of a platform's page. */
export type Check = (value: unknown) => boolean;

export const isText: Check = (value) => typeof value === 'string' && value !== '';
export const isNumber: Check = (value) => typeof value === 'number' && Number.isFinite(value);
export const isWhole: Check = (value) => Number.isInteger(value);
export const isFlag: Check = (value) => typeof value === 'boolean';
export const isDigest: Check = (value) => typeof value === 'string' && /^[0-9a-f]{64}$/.test(value);
export const isAddress: Check = (value) => typeof value === 'string' && isIP(value) > 0;
export const isWebAddress: Check = (value) => typeof value === 'string' && /^https?:\/\/\S+$/.test(value);
export const isOneOf =
  (words: readonly string[]): Check =>
  (value) =>
    typeof value === 'string' && words.includes(value);
export const isDecimalText: Check = (value) => typeof value === 'string' && /^-?\d+(\.\d+)?$/.test(value);
export const isListOf =
  (check: Check): Check =>
  (value) =>
    Array.isArray(value) && value.length > 0 && value.every(check);
export const isObjectOf =
  (checks: Record<string, Check>): Check =>
  (value) =>
    isRecord(value) && fieldFault(value, checks) === null;

/** The first field of a record that is not known or not what it must be; null when all are right. */
export function fieldFault(record: Record<string, unknown>, checks: Record<string, Check>): string | null {
  for (const [name, value] of Object.entries(record)) {
    const check = checks[name];
    if (check === undefined) return `${name} is not known`;
    if (!check(value)) return `${name} is not valid`;
  }
  return null;
}

/** The first of the fields that is not there; null when all are. */
export const missingFault = (record: Record<string, unknown>, names: readonly string[]): string | null => {
  const name = names.find((one) => record[one] === undefined);
  return name === undefined ? null : `${name} is required`;
};

const DAY_S = 86_400;

/** Whether a time in seconds is too old or ahead; null when it is neither. */
export function timeFault(timeS: unknown, daysMax: number, nowMs: number): string | null {
  if (typeof timeS !== 'number' || !Number.isInteger(timeS)) return 'the time must be whole seconds';
  const ageS = nowMs / 1000 - timeS;
  if (ageS > daysMax * DAY_S) return 'the time is too old';
  return ageS < -60 ? 'the time lies in the future' : null;
}
