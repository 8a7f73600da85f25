import type { Migrations } from '@muster/store';
import type { OrganizationRows } from '../auth/organization-rows.js';
import type { DeclaredRights } from '../auth/rights.js';
import type { EventFamily } from '../log/own-events.js';
import type { OpenSubjects } from '../log/retention.js';

/**
 * What a layer says of itself before anything runs; its errors are declared in `errors.ts`. Whoever starts a process puts the
 * declarations of its layers together, the lower ones first.
 */
export interface LayerDeclaration {
  readonly name: string;
  readonly migrations: Migrations;
  /** What its routes may ask for, and who has it. */
  readonly rights: DeclaredRights;
  /** What it tells, and to whom. */
  readonly events: readonly EventFamily[];
  /** What goes when an organization goes, and what stands against that. */
  readonly organizationRows?: OrganizationRows | readonly OrganizationRows[];
  /** Subjects whose events stay in the log, however old they are. */
  readonly openSubjects?: OpenSubjects;
}

/** The declarations of several layers as those parts take them that serve all. */
export function together(layers: readonly LayerDeclaration[]) {
  return {
    migrations: layers.map(({ migrations }) => migrations),
    rights: layers.map(({ rights }) => rights),
    families: layers.flatMap(({ events }) => events),
    organizationRows: layers.flatMap(({ organizationRows }) => organizationRows ?? []),
    openSubjects: layers.flatMap(({ openSubjects }) => openSubjects ?? []),
  };
}
