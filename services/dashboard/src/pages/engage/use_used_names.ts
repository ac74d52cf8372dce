import { useRef } from 'preact/hooks';
import { itemNames, translatedNames } from './definition_names.ts';

/**
 * Names of all items that a definition had since its form was opened, or that something is known of: under an id that was
 * used before, another question would take over the translations and the results of a removed one.
 *
 * @param definitions As it is stored, and as it is typed.
 */
export function useUsedNames(...definitions: readonly unknown[]): ReadonlySet<string> {
  const used = useRef(new Set<string>()).current;
  for (const one of definitions) for (const name of [...itemNames(one), ...translatedNames(one)]) used.add(name);
  return used;
}
