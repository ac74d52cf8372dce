import type { DeployedProcess } from './processes.ts';
import type { Yaml } from './yaml.ts';

/** An object of Kubernetes. */
export type Manifest = { readonly apiVersion: string; readonly kind: string } & { readonly [key: string]: Yaml };

export const NAMESPACE = 'event-ingest';

export const ALL_LABELS = { 'app.kubernetes.io/name': NAMESPACE } as const;
export const COMPONENT = 'app.kubernetes.io/component';

export const labelsOf = ({ name }: Pick<DeployedProcess, 'name'>) => ({ ...ALL_LABELS, [COMPONENT]: name });
