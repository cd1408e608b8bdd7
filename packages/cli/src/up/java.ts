import path from 'node:path';
import type { Detected, Finder, Folder } from './detected.ts';
import { library } from './lines.ts';

/** Releases with images of a JDK, of Maven and of Gradle. Others get the next later one. */
const releases = [8, 11, 17, 21, 25];
const buildFiles = ['pom.xml', 'build.gradle.kts', 'build.gradle', 'settings.gradle.kts', 'settings.gradle'];

const versions = [
  /<(?:java\.version|maven\.compiler\.release|release|maven\.compiler\.target|maven\.compiler\.source)>(?:1\.)?(\d+)</,
  /JavaLanguageVersion\.of\((\d+)/,
  /jvmToolchain\((\d+)/,
  /VERSION_(?:1_)?(\d+)/,
  /sourceCompatibility\s*=\s*["']?(?:1\.)?(\d+)/,
];

export const java: Finder = async (folder, names) => {
  const because = buildFiles.find((name) => names.includes(name));
  if (because === undefined) return null;
  const tool = because === 'pom.xml' ? 'maven' : 'gradle';
  const isBuildFile =
    tool === 'maven' ? /(^|\/)pom\.xml$/ : /(^|\/)(build|settings)\.gradle(\.kts)?$|^gradle\/libs\.versions\.toml$/;
  const all = names.filter((name) => isBuildFile.test(name));
  const text = (await Promise.all(all.map((name) => folder.read(name)))).join('\n');
  const framework = /spring-boot|org\.springframework\.boot/.test(text)
    ? 'spring'
    : text.includes('io.quarkus')
      ? 'quarkus'
      : text.includes('io.micronaut')
        ? 'micronaut'
        : '';
  const wrapper = await findWrapper(folder, names, tool);
  const isMulti = tool === 'maven' ? text.includes('<modules>') : all.some((name) => /\/build\.gradle/.test(name));
  // Plugins that put the program and its libraries into one archive.
  const isOneArchive = framework !== '' || /shadow|shade|assembly|Main-Class|<mainClass>[^]*<archive>|jib/i.test(text);
  // Without such a plugin, only the distribution of Gradle has the libraries.
  const isDistribution =
    tool === 'gradle' &&
    framework === '' &&
    /['"]application['"]|`application`|^\s*application\s*$|\{\s*application\s*[};]/m.test(text) &&
    !/shadow/i.test(text);
  const isPlain = !isOneArchive && !isDistribution && (tool === 'maven' || !isMulti);
  const program = isPlain ? await mainClass(folder, names) : undefined;
  const facts = {
    tool,
    framework,
    hasWrapper: String(wrapper !== null),
    isMulti: String(isMulti),
    isDistribution: String(isDistribution),
    main: isPlain ? (/<(?:exec\.)?mainClass>\s*([\w.$]+)\s*</.exec(text)?.[1] ?? program?.name ?? '') : '',
    module: program?.module ?? '',
  };
  return { language: 'Java', because, version: releaseOf(text, wrapper), facts };
};

/** Returns the text of the wrapper's settings; null if there is no wrapper, or a part of it is missing. */
async function findWrapper(folder: Folder, names: readonly string[], tool: string): Promise<string | null> {
  if (tool === 'maven') return names.includes('mvnw') ? folder.read('.mvn/wrapper/maven-wrapper.properties') : null;
  const parts = ['gradlew', 'gradle/wrapper/gradle-wrapper.jar', 'gradle/wrapper/gradle-wrapper.properties'];
  return parts.every((name) => names.includes(name)) ? folder.read('gradle/wrapper/gradle-wrapper.properties') : null;
}

/** Returns the release of Java that the build files name, or the newest that the wrapper runs on; null: any. */
function releaseOf(text: string, wrapper: string | null): string | null {
  const stated = versions.flatMap((version) => version.exec(text)?.[1] ?? [])[0];
  if (stated !== undefined) return String(releases.find((one) => one >= Number(stated)) ?? Number(stated));
  const [, major, minor] = /gradle-(\d+)\.(\d+)/.exec(wrapper ?? '') ?? [];
  if (major === undefined) return null;
  const gradle = Number(major) * 100 + Number(minor);
  if (gradle >= 805) return null;
  return gradle >= 703 ? '17' : gradle >= 500 ? '11' : '8';
}

/** A class with the method `main`, and the folder of its module; an empty text: the folder itself. */
interface MainClass {
  readonly name: string;
  readonly module: string;
}

/** Returns the class that starts the program, of Java or Kotlin; undefined if there is none. */
async function mainClass(folder: Folder, names: readonly string[]): Promise<MainClass | undefined> {
  const found: MainClass[] = [];
  for (const name of names.filter((one) => /(^|\/)src\/main\/(java|kotlin)\/.*\.(java|kt)$/.test(one))) {
    const text = (await folder.read(name)) ?? '';
    const kotlin = name.endsWith('.kt') && /^fun main\(/m.test(text);
    if (!kotlin && !/\bstatic\s+(?:final\s+)?void\s+main\s*\(/.test(text)) continue;
    const file = path.posix.basename(name).replace(/\.\w+$/, '');
    const inPackage = /^\s*package\s+([\w.]+)/m.exec(text)?.[1];
    const className = kotlin ? `${file.charAt(0).toUpperCase()}${file.slice(1)}Kt` : file;
    const module = name.split('src/main/')[0]?.replace(/\/$/, '') ?? '';
    found.push({ name: inPackage === undefined ? className : `${inPackage}.${className}`, module });
  }
  return found.find(({ name }) => /(?:^|\.)\w*(?:Main|App|Application|Server)(?:Kt)?$/.test(name)) ?? found[0];
}

/** Variables with which frameworks take their port. They do not know PORT. */
const portVariables: Readonly<Record<string, string>> = {
  spring: 'SERVER_PORT',
  quarkus: 'QUARKUS_HTTP_PORT',
  micronaut: 'MICRONAUT_SERVER_PORT',
};

/** Parts of the Dockerfile that differ by how the program is packed. */
interface Packed {
  /** Takes the program out of what the build made. */
  readonly taking: string;
  readonly copy: string;
  readonly start: readonly string[];
}

export function javaFile({ version, port, facts }: Detected): string {
  const { tool, framework = '', isMulti } = facts;
  const hasWrapper = facts['hasWrapper'] === 'true';
  const release = Number(version ?? '21');
  const isMaven = tool === 'maven';
  // Gradle 8 does not run on newer releases.
  const gradle = release >= 25 ? 9 : 8;
  const image = hasWrapper
    ? // The images of Maven and Gradle have settings and volumes that their wrappers do not expect.
      `eclipse-temurin:${release}-jdk`
    : isMaven
      ? `maven:3-eclipse-temurin-${release}`
      : `gradle:${gradle}-jdk${release}`;
  const program = hasWrapper ? `sh ./${isMaven ? 'mvnw' : 'gradlew'}` : isMaven ? 'mvn' : 'gradle';
  const { taking, copy, start } = packed(program, facts);
  const variable = portVariables[framework];
  const options = release < 9 ? 'JAVA_TOOL_OPTIONS' : 'JDK_JAVA_OPTIONS';
  return `FROM ${library}/${image} AS build
WORKDIR /src
${fetching(isMaven, hasWrapper, isMulti === 'true')}COPY . .
${taking}

FROM ${library}/eclipse-temurin:${release}-jre
${copy}
# The heap may use most of the memory of the container, instead of a quarter.
ENV PORT=${port}${variable === undefined ? '' : ` ${variable}=${port}`} ${options}=-XX:MaxRAMPercentage=75
USER nobody
EXPOSE ${port}
CMD [${start.map((word) => JSON.stringify(word)).join(', ')}]`;
}

function packed(
  program: string,
  { tool, framework, isMulti, isDistribution, main = '', module = '' }: Detected['facts'],
): Packed {
  const isMaven = tool === 'maven';
  const single = framework === 'quarkus' ? ' -Dquarkus.package.jar.type=uber-jar' : '';
  const task = isMaven
    ? '--batch-mode package -DskipTests'
    : `--no-daemon ${isDistribution === 'true' ? 'installDist' : 'assemble'}`;
  const build = `${program} ${task}${single}`;
  if (isDistribution === 'true') {
    return {
      taking: `RUN ${build} \\
 && mv "$(find . -path '*build/install/*' -prune | head -n 1)" /app && rm /app/bin/*.bat && mv /app/bin/* /app/bin/start`,
      copy: 'COPY --from=build /app /app',
      start: ['/app/bin/start'],
    };
  }
  const at = isMaven ? 'target' : framework === 'quarkus' ? 'build' : 'build/libs';
  const archives =
    module !== ''
      ? `${module}/${at}/*.[jw]ar`
      : isMulti === 'true'
        ? `$(find . -path '*/${at}/*.jar' -o -path '*/${at}/*.war')`
        : `${at}/*.[jw]ar`;
  const largest = `"$(ls -S ${archives} | grep -Ev -e '-(sources|javadoc|tests|plain)\\.jar$' | head -n 1)"`;
  if (main === '') {
    return {
      taking: `# The largest archive is the one that contains its libraries.\nRUN ${build} \\\n && cp ${largest} /app.jar`,
      copy: 'COPY --from=build /app.jar /app.jar',
      start: ['java', '-jar', '/app.jar'],
    };
  }
  const of = module === '' ? '' : ` --projects ${module} --also-make`;
  const libraries = isMaven ? `${of} dependency:copy-dependencies -DincludeScope=runtime -DoutputDirectory=/app` : '';
  return {
    taking: `RUN mkdir /app && ${build}${libraries} \\\n && cp ${largest} /app/`,
    copy: 'COPY --from=build /app /app',
    start: ['java', '-cp', '/app/*', main],
  };
}

/** Returns the lines that fetch what seldom changes. Builds of several modules need all files for that. */
function fetching(isMaven: boolean, hasWrapper: boolean, isMulti: boolean): string {
  if (isMaven) {
    if (isMulti) return '';
    const [files, program] = hasWrapper ? ['COPY mvnw pom.xml ./\nCOPY .mvn .mvn', 'sh ./mvnw'] : ['COPY pom.xml ./', 'mvn'];
    return `# Libraries are fetched again only when these files change. The build fetches what this cannot.\n${files}\nRUN ${program} --batch-mode dependency:go-offline || true\n`;
  }
  return hasWrapper ? '# Gradle is fetched once.\nCOPY gradlew ./\nCOPY gradle gradle\nRUN sh ./gradlew --version\n' : '';
}
