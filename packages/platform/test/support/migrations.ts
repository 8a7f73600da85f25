import { nodesMigrations } from '@muster/nodes';
import { platformMigrations } from '@muster/platform/schema';
import { pushMigrations } from '@muster/push';

/** Of all layers, as the server has them. */
export const MIGRATIONS = [platformMigrations, nodesMigrations, pushMigrations];
