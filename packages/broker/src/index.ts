// What the package adds to the types of the store: its tables.
import './embedded/tables.js';

export { EmbeddedBroker, type EmbeddedOptions } from './embedded/broker.js';
export { brokerMigrations } from './embedded/migrations.js';
export { LIMITS, type Limits } from './limits.js';
export { RabbitBroker, type RabbitOptions } from './rabbitmq/broker.js';
export * from './topology.js';
export * from './types.js';
