/** Puts a value into a table of at most `max`: the one that was put longest ago makes way. */
export function putNewest<Value>(table: Map<string, Value>, key: string, value: Value, max: number): void {
  table.delete(key);
  table.set(key, value);
  for (const oldest of table.keys()) {
    if (table.size <= max) return;
    table.delete(oldest);
  }
}
