import type { IdentityQuestion } from '#pipelines/identity/resolve.ts';

/** What one call of the script asks, in order, and by question where its answer stands. */
export interface Asked {
  items: Item[];
  places: Place[];
}

/** A question that links, or persons of whom nothing is said and each is asked for once. */
export type Item = { question: IdentityQuestion } | { lookups: string[] };

interface Place {
  item: number;
  /** Its person among the item's lookups; 0 where the item is a question. */
  at: number;
}

/**
 * Most events say nothing of who their visitor is, and a visitor has many events. Those between two questions that link go
 * into one question with each person once, and each gets the answer that it would have got alone.
 */
export function asItems(questions: readonly IdentityQuestion[]): Asked {
  const items: Item[] = [];
  let lookups: string[] = [];
  let seen = new Map<string, number>();
  const places = questions.map((question): Place => {
    if (question.nodes.length > 0) {
      items.push({ question });
      lookups = [];
      seen = new Map();
      return { item: items.length - 1, at: 0 };
    }
    if (lookups.length === 0) items.push({ lookups });
    let at = seen.get(question.basePersonId);
    if (at === undefined) {
      at = lookups.push(question.basePersonId) - 1;
      seen.set(question.basePersonId, at);
    }
    return { item: items.length - 1, at };
  });
  return { items, places };
}
