declare module '@muster/store' {
  interface Schema {
    /** When nothing is to be started. */
    calendars: {
      org_id: string;
      name: string;
      description: string;
      timezone: string;
      /** `Entry[]`, JSON. */
      entries: string;
      created_at: number;
      updated_at: number;
    };
  }
}

export {};
