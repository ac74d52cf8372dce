import { useState } from 'preact/hooks';

interface TypedText<Value> {
  text: string;
  /** Whether it is what somebody typed. */
  isTyped: boolean;
  /** Takes what was typed, and what it was read as. */
  type(text: string, read: Value): void;
  /** Shows the number as it is written again. */
  leave(): void;
}

/**
 * What the field of a number shows. What was typed stays as it is for as long as the number is the one that it was read as:
 * written anew at each key, 0.05 could not be typed, as 0.0 is 0.
 */
export function useTypedText<Value>(value: Value, written: (value: Value) => string): TypedText<Value> {
  const [typed, setTyped] = useState<{ text: string; value: Value } | null>(null);
  const isTyped = typed !== null && Object.is(typed.value, value);
  return {
    isTyped,
    text: isTyped ? typed.text : written(value),
    type: (text, read) => setTyped({ text, value: read }),
    leave: () => setTyped(null),
  };
}
