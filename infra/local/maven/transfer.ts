const UNIT_BYTES: Record<string, number> = { B: 1, kB: 1e3, MB: 1e6, GB: 1e9 };

/** Reads Maven's transfer messages and says how much has been fetched. */
export interface Transfer {
  read(chunk: string): void;
  /** `12 jars, 23 MB`; undefined before anything was transferred. */
  summary(): string | undefined;
}

/** Counts from zero; pass it Maven's output as it arrives. */
export function createTransfer(): Transfer {
  let rest = '';
  let jars = 0;
  let doneBytes = 0;
  let pendingBytes = 0;
  const readLine = (line: string) => {
    const done = line.match(/Downloaded from \S+ (\S+) \(([\d.]+) (\w+)/);
    if (done !== null) {
      if (done[1]?.endsWith('.jar')) jars += 1;
      doneBytes += toBytes(done[2], done[3]);
      pendingBytes = 0;
    } else if (line.startsWith('Progress (')) {
      pendingBytes = [...line.matchAll(/([\d.]+)(?: ?(\w+))?\/[\d.]+ (\w+)/g)]
        .map((match) => toBytes(match[1], match[2] ?? match[3]))
        .reduce((sum, bytes) => sum + bytes, 0);
    }
  };
  return {
    read(chunk) {
      const lines = (rest + chunk).split(/[\r\n]+/);
      rest = lines.pop() ?? '';
      lines.forEach(readLine);
    },
    summary() {
      const megabytes = Math.round((doneBytes + pendingBytes) / 1e6);
      if (doneBytes + pendingBytes === 0) return undefined;
      return jars > 1 ? `${jars} jars, ${megabytes} MB` : `${megabytes} MB`;
    },
  };
}

function toBytes(amount: string | undefined, unit: string | undefined): number {
  return Number(amount ?? 0) * (UNIT_BYTES[unit ?? 'B'] ?? 1);
}
