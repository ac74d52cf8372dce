const ADVERTISING = 'It deletes no single events: remove the person from audiences that you uploaded there.';

/** What is to be done by hand at a destination, by its kind, as nothing that was sent is called back. */
const TO_DO: Readonly<Record<string, string>> = {
  ga4: 'Delete the user in the User explorer, or by the User Deletion API.',
  google: ADVERTISING,
  linkedin: ADVERTISING,
  meta: ADVERTISING,
  pinterest: ADVERTISING,
  posthog: 'Delete the person together with their events, there.',
  reddit: ADVERTISING,
  snapchat: ADVERTISING,
  tiktok: ADVERTISING,
  webhook: 'Delete what your own system has kept of the webhooks.',
};

export const toDoAt = (destination: string): string => TO_DO[destination] ?? 'Delete what it has of the person.';
