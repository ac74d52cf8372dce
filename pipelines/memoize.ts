/** A function that finds each key's value once, for as long as it is held: for the keys that repeat in a batch. */
export function memoize<Key, Value>(find: (key: Key) => Value): (key: Key) => Value {
  const values = new Map<Key, Value>();
  return (key) => {
    const known = values.get(key);
    if (known !== undefined) return known;
    const value = find(key);
    values.set(key, value);
    return value;
  };
}
