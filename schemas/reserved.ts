/** Headers of a record as a client reads them. */
export type RecordHeaders = Readonly<Record<string, Buffer | string | (Buffer | string)[] | undefined>>;

/** Against which account a record of events.raw counts, and under which lease its events were reserved. */
export interface Reserved {
  accountId: string;
  /** Empty where nothing was reserved. */
  lease: string;
}

const ACCOUNT = 'account';
/** The name on the wire is older than the word lease. */
const LEASE = 'hold';

/** The headers of a record of events.raw. */
export function reservedHeaders(accountId: string, lease: string): Record<string, string> {
  return { [ACCOUNT]: accountId, [LEASE]: lease };
}

/** Reads the headers of a record of events.raw; null where no edge has written them. */
export function readReserved(headers: RecordHeaders): Reserved | null {
  const accountId = textOf(headers[ACCOUNT]);
  return accountId === '' ? null : { accountId, lease: textOf(headers[LEASE]) };
}

function textOf(value: RecordHeaders[string]): string {
  if (value === undefined || Array.isArray(value)) return '';
  return typeof value === 'string' ? value : value.toString('utf8');
}
