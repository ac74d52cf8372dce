/** What the tests use of the libraries, whose own types ask for more than this compiler gives. */
export type Segment = new (options: {
  writeKey: string;
  host: string;
  flushAt: number;
}) => {
  on(event: 'error' | 'http_request', listener: (error: unknown) => void): void;
  track(call: object): void;
  identify(call: object): void;
  page(call: object): void;
  screen(call: object): void;
  group(call: object): void;
  alias(call: object): void;
  closeAndFlush(): Promise<void>;
};
export type PostHog = new (
  key: string,
  options: { host: string; flushAt: number },
) => {
  on(event: 'error', listener: (error: unknown) => void): void;
  capture(event: object): void;
  captureImmediate(event: object): Promise<void>;
  identify(person: object): void;
  alias(ids: object): void;
  getFeatureFlag(name: string, distinctId: string): Promise<unknown>;
  shutdown(): Promise<void>;
};
export type Rudder = new (
  key: string,
  options: { dataPlaneUrl: string; flushAt: number },
) => {
  track(call: object, done: (error?: unknown) => void): void;
  identify(call: object, done: (error?: unknown) => void): void;
  flush(done: (error?: unknown) => void): void;
};

/** The libraries people have in their programs already. */
export async function realClients(): Promise<{ Analytics: Segment; PostHog: PostHog; Rudder: Rudder }> {
  const [segment, posthog, rudder] = ['@segment/analytics-node', 'posthog-node', '@rudderstack/rudder-sdk-node'];
  const { Analytics } = (await import(segment as string)) as { Analytics: Segment };
  const { PostHog } = (await import(posthog as string)) as { PostHog: PostHog };
  const { default: found } = (await import(rudder as string)) as { default: Rudder | { default: Rudder } };
  return { Analytics, PostHog, Rudder: typeof found === 'function' ? found : found.default };
}
